# What could stand at the cursor, found by R's own machinery in a forked child: it evaluates what stands before a `$`, and methods of
# `.DollarNames` are user code.

answer_completion <- function(request) {
  result <- tryCatch({
    # Without a new seed: the random numbers that follow are those that would have followed anyway.
    job <- parallel::mcparallel(
      {
        parallel:::closeStderr(TRUE)
        first_victim()
        completions(request)
      },
      silent = TRUE, mc.set.seed = FALSE
    )
    say(list(op = "child", ask = request$ask, pid = job$pid))
    suppressWarnings(parallel::mccollect(job))[[1L]]
  }, error = function(condition) NULL)
  answer <- list(op = "answer", ask = request$ask)
  say(if (is.list(result)) c(answer, list(result = result)) else c(answer, error = "it could not be found in time"))
}

# Memory that it takes must not cost the kernel its life.
first_victim <- function() tryCatch(cat("1000", file = "/proc/self/oom_score_adj"), error = function(condition) NULL, warning = function(condition) NULL)

# A token may be `frame$col`: it is replaced as a whole.
completions <- function(request) {
  before <- substr(request$code, 1L, request$cursor)
  line <- sub("^.*\n", "", before)
  utils::rc.settings(ipck = TRUE)
  utils:::.assignLinebuffer(line)
  utils:::.assignEnd(nchar(line))
  token <- utils:::.guessTokenFromLine()
  utils:::.completeToken()
  found <- unique(utils:::.retrieveCompletions())
  in_text <- isTRUE(utils:::isInsideQuotes())
  found <- found[startsWith(found, token) & found != token & nchar(found) <= request$text]
  # Everything there is would tell nobody anything.
  if (!nzchar(token) && !in_text) found <- found[endsWith(found, "=")]
  found <- utils::head(found[order(grepl("^[._]|<-$", found))], request$matches)
  matches <- lapply(found, function(name) if (in_text) list(text = gsub("//+", "/", name), type = "path") else describe(name))
  list(start = request$cursor - nchar(token), end = request$cursor, matches = I(matches))
}

describe <- function(name) {
  if (endsWith(name, "=")) return(list(text = name, type = "param"))
  parts <- regmatches(name, regexec("^(.*[$@])([^$@]*)$", name))[[1L]]
  if (length(parts) == 3L) {
    plain <- make.names(parts[[3L]]) == parts[[3L]] || startsWith(parts[[3L]], "`")
    return(list(text = if (plain) name else paste0(parts[[2L]], "`", parts[[3L]], "`"), type = "property"))
  }
  if (endsWith(name, "::")) return(list(text = name, type = "module"))
  bare <- sub("^.*:::?", "", sub("^\\?", "", name))
  where <- if (bare == name) globalenv() else tryCatch(asNamespace(sub(":::?.*$", "", name)), error = function(condition) globalenv())
  value <- tryCatch(get0(bare, where), error = function(condition) NULL)
  if (!is.function(value)) return(list(text = name, type = if (exists(bare, where)) "instance" else NULL))
  parameters <- tryCatch(deparse(args(value), nlines = 1L)[[1L]], error = function(condition) "")
  list(text = name, type = "function", signature = if (grepl("^function \\(.*\\) ?$", parameters)) trimws(sub("^function ", "", parameters)) else NULL)
}
