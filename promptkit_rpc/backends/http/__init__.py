"""Everything HTTP. Only this package imports httpx, h11 and httpx_sse, and only on a first call."""
