"""Import a module at its first use: a library may import more than this program needs."""

import sys
from _thread import allocate_lock  # `threading` takes as long to import as what is put off
from importlib import import_module
from types import ModuleType

_LOCK = allocate_lock()


def at_first_use(name: str) -> None:
    """Put off the import of a module until somebody uses it. If it is imported already, nothing happens."""
    sys.modules.setdefault(name, _Later(name))


class _Later(ModuleType):
    """Imports the module of its name when somebody asks for a content of it. `LazyLoader` does so at `import`."""

    def __getattr__(self, name: str) -> object:
        with _LOCK:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
        found: object = getattr(import_module(self.__name__), name)
        return found
