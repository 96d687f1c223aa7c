"""One test over the rows of a table, where a row takes so little time that a test for each would cost more."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def over_rows(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Call the test with each row, as `pytest.mark.parametrize` would, within one test that names all rows that fail.

    Fixtures are made once, for all rows.
    """
    wanted = [names] if isinstance(names, str) else [*names]
    table = [*rows]

    def decorate(test: Test) -> Test:
        def all_rows(**fixtures: Any) -> None:
            faults = []
            for row in table:
                given = dict(zip(wanted, [row] if isinstance(names, str) else row, strict=True))
                try:
                    test(**fixtures, **given)
                except Exception as fault:
                    fault.add_note(f"with {', '.join(f'{name} = {value!r:.300}' for name, value in given.items())}")
                    faults.append(fault)
            if faults:
                raise ExceptionGroup(f"{len(faults)} of {len(table)} rows fail", faults)

        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in wanted]
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(all_rows, name, getattr(test, name))
        all_rows.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return all_rows

    return decorate
