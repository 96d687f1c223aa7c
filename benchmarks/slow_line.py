"""A slow line: passes connections of a port on to another one, and holds back all that comes, in both directions.

python slow_line.py PORT OTHER-PORT SECONDS
"""

import asyncio
import sys


async def _carry(source: asyncio.StreamReader, goal: asyncio.StreamWriter, seconds: float) -> None:
    """Pass on what comes, each part so many seconds later, until the source ends."""
    loop = asyncio.get_running_loop()
    parts: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def read() -> None:
        more = b"-"
        while more:
            more = await source.read(1 << 16)
            parts.put_nowait((loop.time() + seconds, more))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read())
        while True:
            due, part = await parts.get()
            await asyncio.sleep(due - loop.time())
            if not part:
                break
            goal.write(part)
            await goal.drain()
    goal.close()


async def _main(port: int, other: int, seconds: float) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", other)
        try:
            await asyncio.gather(_carry(reader, far_writer, seconds), _carry(far_reader, writer, seconds))
        except* ConnectionError:
            pass
        finally:
            writer.close()
            far_writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
