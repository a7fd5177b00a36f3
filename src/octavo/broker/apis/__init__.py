"""One file per API, and some that several APIs share; an API's `handle(request, context)` returns its `Answer`.

A RequestError that it raises becomes the error of the whole answer. No handler waits for other clients. Apart from
appends to logs and reads of logs, work on a disk is done in a `Later`, except that `__consumer_offsets` is created at
once for a client that did not ask FindCoordinator.
"""
