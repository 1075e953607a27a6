"""Tells one execution of a kernel from the next."""

import os


class Ticket:
    """One for each execution, of our own making: what a kernel says counts only for the execution whose ticket it shows.

    Results show its name, which code may find out. The end shows its token, which lies outside of the kernel's memory until
    the code has come to its end, where the language can do that. Whoever gets hold of it all the same ends his own execution early;
    what the kernel says at the real end then shows a token that counts no more.
    """

    __slots__ = ("name", "token")

    def __init__(self) -> None:
        self.name = os.urandom(8).hex()
        # A request begins with a digit, so a kernel can tell one from the other.
        self.token = "t" + os.urandom(8).hex()[1:]

    def names(self, message: dict) -> bool:
        return message.get("id") == self.name

    def ends(self, message: dict) -> bool:
        return message.get("token") == self.token
