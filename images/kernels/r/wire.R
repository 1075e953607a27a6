# Requests in, answers out.

poke <- fifo("/dev/fd/4", "rb", blocking = TRUE)
answers <- file("/dev/fd/3", "wb", raw = TRUE)

say <- function(message) say_line(jsonlite::toJSON(message, auto_unbox = TRUE, null = "null", na = "null", digits = NA, json_verbatim = TRUE))

say_line <- function(line) {
  writeLines(enc2utf8(line), answers, useBytes = TRUE)
  flush(answers)
}

# In order with what follows on stdout and stderr: until the guest has taken it. It says nothing else during an execution.
say_and_wait <- function(message) {
  say(message)
  wait()
}

wait <- function() {
  idle <- 0
  while (length(readBin(poke, "raw", 1L)) == 0L) {
    # Nothing read is an interrupted read, or the end.
    idle <- idle + 1
    if (idle > 1000) quit("no", 0, FALSE)
  }
}

receive <- function() {
  wait()
  source <- file("/dev/fd/5", "rb", raw = TRUE)
  on.exit(close(source))
  bytes <- raw()
  repeat {
    piece <- readBin(source, "raw", 1048576L)
    if (length(piece) == 0L) break
    bytes <- c(bytes, piece)
  }
  text <- rawToChar(bytes)
  Encoding(text) <- "UTF-8"
  jsonlite::parse_json(text)
}
