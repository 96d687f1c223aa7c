"""Import a module at its first use: a library may import more than this program needs."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def at_first_use(name: str) -> None:
    """Put off the import of a module until somebody uses it. If it is imported already, nothing happens."""
    sys.modules.setdefault(name, _Later(name))


class _Later(ModuleType):
    """Imports the module of its name when somebody asks for a content of it. `LazyLoader` does so at `import`."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)
