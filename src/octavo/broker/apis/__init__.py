"""One file per API, and some that several APIs share; an API's `handle(request, context)` returns its `Answer`.

No handler waits for other clients, or for slow work on a disk.
"""
