"""A site whose mail the service watches."""

from tests.service.conftest import site

__all__ = ["site"]
