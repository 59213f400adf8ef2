"""A program on a terminal of its own."""

import fcntl
import os
import pty
import struct
import termios


def run(command, environment, folder, answer=None, columns=0):
    """Runs it there, types `answer` when it is asked a question (... [Y/n]); the exit status and all that was on the screen."""
    pid, terminal = pty.fork()
    if pid == 0:
        if columns:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        os.chdir(folder)
        os.execve(command[0], command, environment)
    screen = b""
    while True:
        try:
            some = os.read(terminal, 4096)
        except OSError:  # EIO: the other side is closed
            some = b""
        if not some:
            break
        screen += some
        if answer is not None and b"[Y/n] " in screen:
            os.write(terminal, answer.encode())
            answer = None
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), screen.decode()
