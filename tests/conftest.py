"""Fixtures that several folders use."""

from tests.support.engine import engine

__all__ = ["engine"]
