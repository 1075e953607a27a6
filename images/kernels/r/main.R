# The R kernel. R cannot use a socket by descriptor, so requests lie in a file in memory (5), a byte on a pipe (4) says that one is there,
# and answers go out as JSON lines on another pipe (3). Output goes to 1 and 2 as it comes; values, plots and errors are reported.

local({
  here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
  kernel <- new.env(parent = baseenv())
  for (file in c("wire.R", "pipes.R", "render.R", "run.R", "state.R", "completion.R", "saved_state.R")) sys.source(file.path(here, file), kernel, keep.source = FALSE)
  kernel$serve()
})
