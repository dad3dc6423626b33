"""Fixtures and hooks that several folders use."""

from tests.support.engine import engine
from tests.support.figures import pytest_terminal_summary

__all__ = ["engine", "pytest_terminal_summary"]
