# One execution after another, with the `evaluate` package. Interrupts are let through only while user code runs.

current <- NULL

serve <- function() {
  options(device = function(...) grDevices::pdf(NULL), warn = 1, width = 100, menu.graphics = FALSE, jupyter.rich_display = FALSE)
  # q() would end the process; here it ends the code.
  leave <- function(save = "no", status = 0, runLast = TRUE) {
    stop(structure(list(message = "quit", call = NULL, status = as.integer(status)), class = c("sandbar_quit", "error", "condition")))
  }
  attach(list(q = leave, quit = leave), name = "sandbar", warn.conflicts = FALSE)
  loadNamespace("evaluate")
  say_line(sprintf("{\"op\":\"ready\",\"fresh_pipes\":%s}", if (replaceable) "true" else "false"))
  suspendInterrupts(repeat {
    request <- receive()
    switch(request$op, run = run(request), enter = enter(request), state = answer_state(request))
  })
}

enter <- function(request) {
  say(tryCatch({
    setwd(request$folder)
    list(op = "answer", result = list())
  }, error = function(condition) list(op = "answer", error = conditionMessage(condition))))
}

run <- function(request) {
  if (!is.null(request$pipes)) take_pipes(request$pipes)
  current <<- list2env(list(value_limit = request$mime_value_limit, left = request$mime_total_limit, dropped = 0L, error = NULL, quit = NULL, calls = NULL))
  saved <- set_env(request$env)
  # One that came while nothing ran is nobody's.
  tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = function(condition) NULL)
  interrupted <- FALSE
  tryCatch(
    allowInterrupts(evaluate::evaluate(
      gsub("\r\n", "\n", request$code, fixed = TRUE), envir = globalenv(), stop_on_error = 1L, keep_warning = TRUE, keep_message = TRUE,
      new_device = TRUE, output_handler = handler
    )),
    interrupt = function(condition) interrupted <<- TRUE,
    error = function(condition) on_error(condition)
  )
  while (sink.number() > 0L) sink()
  restore_env(saved)
  status <- "ok"
  code <- "null"
  if (interrupted) {
    status <- "interrupted"
    say(list(op = "error", name = "Interrupted", value = "the execution was interrupted", traceback = "Interrupted"))
  } else if (!is.null(current$quit)) {
    code <- as.character(current$quit)
    if (current$quit != 0L) status <- "error"
  } else if (!is.null(current$error)) {
    status <- "error"
    say(c(list(op = "error"), current$error))
  }
  say_line(sprintf("{\"op\":\"done\",\"id\":%s,\"status\":\"%s\",\"exit_code\":%s,\"dropped\":%d}",
    jsonlite::toJSON(request$id, auto_unbox = TRUE), status, code, current$dropped))
}

publish <- function(data) {
  kept <- list()
  for (mime in names(data)) {
    size <- nchar(data[[mime]], "chars", allowNA = TRUE)
    if (is.na(size) || size > current$value_limit || size > current$left) {
      current$dropped <- current$dropped + 1L
    } else {
      current$left <- current$left - size
      kept[[mime]] <- data[[mime]]
    }
  }
  if (length(kept) > 0L) suspendInterrupts(say_and_wait(list(op = "result", data = kept, wait = TRUE)))
}

on_error <- function(condition) {
  if (inherits(condition, "sandbar_quit")) {
    current$quit <- condition$status
    return(invisible())
  }
  value <- conditionMessage(condition)
  call <- conditionCall(condition)
  head <- if (is.null(call)) paste0("Error: ", value) else sprintf("Error in %s: %s", deparse(call, nlines = 1L)[[1L]], value)
  calls <- current$calls
  trace <- if (length(calls) > 0L) paste0("\nTraceback:\n", paste(sprintf("%d. %s", seq_along(calls), calls), collapse = "\n")) else ""
  current$error <- list(name = sub("^simpleError$", "Error", class(condition)[[1L]]), value = value, traceback = paste0(head, trace))
}

# The user's own calls: between the evaluator's and those that signal.
user_calls <- function(calls) {
  text <- vapply(calls, function(call) deparse(call, nlines = 1L)[[1L]], "")
  start <- max(0L, grep("^(withVisible\\(do|withVisible\\(eval|eval\\(expr, envir)", text))
  text <- text[seq_along(text) > start & !grepl("^(\\.handleSimpleError|h\\(simpleError|signalCondition|\\(function \\((e|condition)\\))", text)]
  utils::tail(text, 50L)
}

# evaluate collects what user code prints until its expression is through. Without its sink the output goes to stdout at once.
live <- tryCatch({
  stopifnot(identical(names(formals(evaluate:::local_persistent_sink_connection))[1:2], c("debug", "frame")))
  utils::assignInNamespace("local_persistent_sink_connection", function(debug, frame) function() NULL, "evaluate")
  TRUE
}, error = function(e) FALSE)

handler <- evaluate::new_output_handler(
  text = function(text) if (!live) to_stdout(text),
  graphics = function(plot) publish(list("text/plain" = "<plot>", "image/png" = png_of(plot))),
  message = function(condition) cat(conditionMessage(condition), file = stderr()),
  warning = function(condition) {
    call <- conditionCall(condition)
    head <- if (is.null(call)) "Warning: " else sprintf("Warning in %s: ", deparse(call, nlines = 1L)[[1L]])
    cat(head, conditionMessage(condition), "\n", sep = "", file = stderr())
  },
  error = on_error,
  value = function(value, visible) {
    if (visible) {
      if (draws_itself(value)) print(value) else publish(bundle(value))
    }
    invisible()
  },
  calling_handlers = list(error = function(condition) current$calls <- user_calls(sys.calls()))
)

set_env <- function(env) {
  saved <- list()
  for (name in names(env)) saved[[name]] <- Sys.getenv(name, NA_character_)
  if (length(env) > 0L) do.call(Sys.setenv, env)
  saved
}

restore_env <- function(saved) {
  for (name in names(saved)) {
    if (is.na(saved[[name]])) Sys.unsetenv(name) else do.call(Sys.setenv, saved[name])
  }
}
