"""Which word of a shell command the cursor ends, and what may stand for it."""

import re

_SEPARATORS = ";&|(){}\n`"
_BEFORE_A_COMMAND = {"if", "then", "elif", "else", "while", "until", "do", "!", "time", "sudo", "exec", "command", "builtin", "env"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_VARIABLE = re.compile(r"\$(\{?)([A-Za-z_]\w*)?$")
_SPECIAL = re.compile(r"([\s\"'\\$`&|;<>(){}\[\]*?!#])")


class Word:
    def __init__(self, start: int, kind: str, text: str, quote: str = "") -> None:
        self.start = start
        self.kind = kind
        """As `compgen -A` calls it."""
        self.text = text
        self.quote = quote
        """That it is in; then nothing else in it needs a mark."""


def at_end(code: str) -> "Word | None":
    """None in a comment."""
    quote, word, start, command, redirected = "", "", None, True, False
    inner = 0
    i = 0
    while i < len(code):
        character = code[i]
        if quote:
            if character == quote:
                quote = ""
            elif character == "\\" and quote == '"' and code[i + 1 : i + 2] in ('"', "\\", "$", "`"):
                i += 1
                word += code[i : i + 1]
            else:
                word += character
        elif character in "'\"":
            quote = character
            start, inner = (i if start is None else start), i + 1
        elif character == "\\":
            start = i if start is None else start
            i += 1
            word += code[i : i + 1]
        elif character in " \t<>" or character in _SEPARATORS:
            # `${name` is one word.
            if character == "{" and code[i - 1 : i] == "$":
                word += character
                i += 1
                continue
            if start is not None:
                if not redirected and not (command and (word in _BEFORE_A_COMMAND or _ASSIGNMENT.match(word))):
                    command = False
                redirected = False
            if character in _SEPARATORS:
                command, redirected = True, False
            elif character in "<>":
                redirected = True
            word, start = "", None
        elif character == "#" and start is None:
            end = code.find("\n", i)
            if end < 0:
                return None
            i = end
            continue
        else:
            start = i if start is None else start
            word += character
        i += 1
    variable = _VARIABLE.search(code)
    if variable and quote != "'":
        return Word(variable.end() - len(variable[2] or ""), "variable", variable[2] or "")
    if start is None:
        start = len(code)
    if quote and inner == start + 1:
        return Word(inner, "file", word, quote)
    assigned = max(code.rfind("=", start), code.rfind(":", start))
    if assigned >= 0 and not quote:
        return Word(assigned + 1, "file", word[max(word.rfind("="), word.rfind(":")) + 1 :])
    if command and not redirected and "/" not in word:
        # All commands that there are would tell nobody anything.
        return Word(start, "command", word) if word else None
    return Word(start, "file", word)


def matches(word: Word, text: str) -> list:
    """From what bash has written."""
    found, _, folders = text.partition("\n\n") if not text.startswith("\n") else ("", "", "")
    folders = set(folders.split("\n"))
    # Ours are not for users.
    names = sorted({name for name in found.split("\n") if name and not name.startswith("__sb_")})
    if word.kind != "file":
        return [{"text": name, "type": word.kind} for name in names]
    return [{"text": _quoted(name, word.quote) + "/" * (name in folders), "type": "path"} for name in names]


def _quoted(name: str, quote: str) -> str:
    if quote == "'":
        return name.replace("'", "'\\''")
    return re.sub(r'(["\\$`])', r"\\\1", name) if quote else _SPECIAL.sub(r"\\\1", name)
