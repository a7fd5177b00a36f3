"""One file per API; its `handle(request, context)` returns the answer. No handler blocks."""
