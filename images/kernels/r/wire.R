# Requests in, answers out.

poke <- answers <- NULL
leave <- base::quit
kernel <- Sys.getpid()

# User code may close every connection that R has; the descriptors stay. A number that was free again may be a connection of its own.
is_ours <- function(connection) {
  tryCatch(identical(attr(getConnection(as.integer(connection)), "conn_id"), attr(connection, "conn_id")), error = function(e) FALSE)
}

connect <- function() {
  if (!is_ours(poke)) poke <<- fifo("/dev/fd/4", "rb", blocking = TRUE)
  if (!is_ours(answers)) answers <<- file("/dev/fd/3", "wb", raw = TRUE)
}
connect()

# A connection, and with it a descriptor, for the kernel alone: code that has used up all others must not keep the next execution
# from being read and having its pipes.
spare <- NULL

keep_spare <- function() {
  if (!is_ours(spare)) spare <<- tryCatch(file("/dev/null", "rb", raw = TRUE), error = function(condition) NULL)
}

use_spare <- function() if (is_ours(spare)) close(spare)

say <- function(message) say_line(jsonlite::toJSON(message, auto_unbox = TRUE, null = "null", na = "null", digits = NA, json_verbatim = TRUE))

say_line <- function(line) {
  connect()
  writeLines(valid(enc2utf8(line)), answers, useBytes = TRUE)
  flush(answers)
}

valid <- function(text) if (all(validUTF8(text))) text else iconv(text, "UTF-8", "UTF-8", sub = "byte")

# In order with what follows on stdout and stderr: until the guest has taken it. It says nothing else during an execution.
say_and_wait <- function(message) {
  say(message)
  wait()
}

wait <- function() {
  connect()
  idle <- 0
  while (length(readBin(poke, "raw", 1L)) == 0L) {
    # Nothing read is an interrupted read, or the end.
    idle <- idle + 1
    if (idle > 1000) leave("no", 0, FALSE)
  }
}

receive <- function() {
  wait()
  use_spare()
  source <- file("/dev/fd/5", "rb", raw = TRUE)
  on.exit(close(source))
  bytes <- raw()
  repeat {
    piece <- readBin(source, "raw", 1048576L)
    if (length(piece) == 0L) break
    bytes <- c(bytes, piece)
  }
  text <- rawToChar(bytes[-seq_len(match(as.raw(10L), bytes))])
  Encoding(text) <- "UTF-8"
  jsonlite::parse_json(text)
}

# The file begins with the name of the execution and the token that ends it; read when its code is through. Another name is that of the next one:
# code has found the token and ended its own execution already.
token_of <- function(id) {
  use_spare()
  source <- file("/dev/fd/5", "rb", raw = TRUE)
  on.exit(close(source))
  ticket <- rawToChar(readBin(source, "raw", 33L))
  if (identical(substr(ticket, 1L, 16L), id)) substr(ticket, 18L, 33L) else ""
}
