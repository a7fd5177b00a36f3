"""One file per API; its `handle(request, context)` returns the answer, or an object that delivers it later.

No handler waits for other clients, or for slow work on a disk.
"""
