"""Everything HTTP: the only package that imports httpx, httptools and httpx_sse.

It is loaded with the first call.
"""
