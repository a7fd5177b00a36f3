"""One file per API: `handle(request, context)` gives the answer. No handler waits."""
