"""The Python kernel. Whatever it needs at run time is bound at import: user code may patch any module it can reach."""
