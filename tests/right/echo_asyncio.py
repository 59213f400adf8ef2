#!/usr/bin/env python3
"""A foreign right server for lab 4: asyncio streams. Usage: echo_asyncio.py PORT

Half-close is kept (what was read is written before the connection is closed) and drain() is the back-pressure.
"""
import asyncio
import socket
import sys

READ_SIZE = 64 << 10
# How often asyncio calls accept for one report. At the descriptor limit it makes all these calls, logs each failure and has each of
# them try again a second later. With its default of 100 that grows: 25 ms of processor time in the first second, 671 ms in the
# twelfth (Python 3.11).
ACCEPTS = 8
QUEUE = 512


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
    listener = socket.create_server(("127.0.0.1", port))
    server = await asyncio.start_server(serve_client, sock=listener, backlog=ACCEPTS)
    listener.listen(QUEUE)
    async with server:
        await server.serve_forever()


asyncio.run(main(int(sys.argv[1])))
