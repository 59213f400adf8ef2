#!/usr/bin/env python3
"""right: lab 4, foreign: asyncio streams. Usage: echo_asyncio.py PORT

Half-close is kept (what was read is written before the connection is closed) and drain() is the back-pressure.
"""
import asyncio
import sys

READ_SIZE = 64 << 10


async def serve_client(reader, writer):
    try:
        while data := await reader.read(READ_SIZE):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass  # this client has gone; the others have not
    finally:
        writer.close()


async def main(port):
    server = await asyncio.start_server(serve_client, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


asyncio.run(main(int(sys.argv[1])))
