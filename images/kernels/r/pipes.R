# Descriptors 1 and 2, anew for each execution: a process that an earlier one left behind keeps the old ones. R itself has no dup2;
# processx has, which devtools brings. An image without it keeps the pipes that the kernel was born with.

replaceable <- requireNamespace("processx", quietly = TRUE)
# Programs that code starts do not get the kernel's own descriptors.
if (replaceable) processx::conn_disable_inheritance()

take_pipes <- function(stem) {
  replace <- function(name, set) {
    fresh <- processx::conn_create_file(name, read = FALSE, write = TRUE)
    set(fresh)
    close(fresh)
  }
  replace(paste0(stem, ".out"), processx::conn_set_stdout)
  replace(paste0(stem, ".err"), processx::conn_set_stderr)
}

# Past any sink.
to_stdout <- function(text) {
  console <- file("/dev/fd/1", "wb", raw = TRUE)
  on.exit(close(console))
  cat(text, file = console)
}
