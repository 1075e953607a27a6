"""The refusal of a call: a code of the error table and a sentence."""


class CallError(Exception):
    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
