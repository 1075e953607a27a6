# The variables of the global environment as one stream, never object by object: closures that share an environment would each bring it.

STATE_MAGIC <- "sandbar r-serialize/1\n"
REPORTED <- 2000L
POINTER_DEPTH <- 8L
POINTER_ITEMS <- 1000L

# What code changes of these later is its state, too.
born <- list(env = Sys.getenv(), paths = .libPaths(), packages = .packages())

dump_state <- function(request) carry(request, "wb", save_variables)
load_state <- function(request) carry(request, "rb", load_variables)

# `data` and `report` are pipes of the guest's, which hears how it goes on the second.
carry <- function(request, mode, work) {
  use_spare()
  report <- tryCatch(file(request$report, "wb", raw = TRUE), error = function(condition) NULL)
  if (is.null(report)) {
    say(list(op = "answer", ask = request$ask, error = "the kernel has no connections left to carry its variables"))
    return(invisible())
  }
  tell <- function(message) {
    line <- jsonlite::toJSON(message, auto_unbox = TRUE, null = "null", na = "null", digits = NA)
    writeLines(valid(enc2utf8(line)), report, useBytes = TRUE)
    flush(report)
  }
  data <- NULL
  failed <- function(condition) tell(list(failed = conditionMessage(condition)))
  tryCatch({
    data <- file(request$data, mode, raw = TRUE)
    tell(list(opened = TRUE))
    done <- suppressWarnings(work(data, tell))
    close(data)
    data <- NULL
    tell(list(done = done))
  }, error = failed, interrupt = function(condition) tell(list(failed = "time was up")))
  if (!is.null(data)) try(close(data), silent = TRUE)
  try(close(report), silent = TRUE)
  say_line(sprintf("{\"op\":\"answer\",\"ask\":%d,\"result\":{}}", as.integer(request$ask)))
}

save_variables <- function(data, tell) {
  global <- globalenv()
  # Random numbers begin anew.
  names <- setdiff(ls(global, all.names = TRUE), c(".Random.seed", ".Last.value"))
  report <- list()
  kept <- list()
  for (name in names) {
    active <- bindingIsActive(as.name(name), global)
    value <- if (!active) get0(name, global, inherits = FALSE)
    reason <- if (active) "an active binding would run code" else lost_reason(value)
    report[[length(report) + 1L]] <- about(name, if (active) "active binding" else class(value)[[1L]], reason)
    if (is.null(reason)) kept[name] <- list(value)
  }
  packages <- rev(setdiff(.packages(), born$packages))
  for (package in packages) report[[length(report) + 1L]] <- about(package, "package", NULL)
  around <- surroundings()
  said <- report_of(report, around)
  writeBin(charToRaw(STATE_MAGIC), data)
  serialize(c(around, list(packages = packages, said = said)), data, xdr = FALSE)
  serialize(kept, data, xdr = FALSE)
  said
}

load_variables <- function(data, tell) {
  if (!identical(readBin(data, "raw", nchar(STATE_MAGIC)), charToRaw(STATE_MAGIC))) stop("it is not the state of an R context")
  around <- unserialize(data)
  if (length(around$set) > 0L) do.call(Sys.setenv, as.list(around$set))
  Sys.unsetenv(as.character(around$unset))
  tryCatch(setwd(around$cwd), error = function(condition) NULL)
  .libPaths(unique(c(around$paths, .libPaths())))
  said <- around$said
  missing <- character()
  for (package in around$packages) {
    there <- tryCatch(
      suppressPackageStartupMessages(library(package, character.only = TRUE, logical.return = TRUE)),
      error = function(condition) FALSE
    )
    if (!isTRUE(there)) missing <- c(missing, package)
  }
  variables <- allowInterrupts(unserialize(data))
  if (!is.list(variables)) stop("it is not the state of an R context")
  list2env(variables, globalenv())
  # Classes and generics that the session has defined.
  tryCatch(methods::cacheMetaData(globalenv(), TRUE), error = function(condition) NULL)
  said$variables <- I(lapply(said$variables, function(entry) {
    if (identical(entry$type, "package") && entry$name %in% missing) about(entry$name, "package", "there is no package of this name here") else entry
  }))
  said$environment <- report_of(list(), surroundings())$environment
  said
}

about <- function(name, type, reason) {
  entry <- list(name = substr(valid(name), 1L, 200L), type = substr(valid(type), 1L, 200L), status = if (is.null(reason)) "saved" else "lost")
  if (is.null(reason)) entry else c(entry, list(reason = reason))
}

report_of <- function(report, around) {
  # Those that are not whole first.
  report <- report[order(vapply(report, function(entry) entry$status == "saved", NA))]
  list(
    variables = I(utils::head(report, REPORTED)), more = max(0L, length(report) - REPORTED),
    environment = list(cwd = around$cwd, set = I(names(around$set)), unset = I(around$unset))
  )
}

surroundings <- function() {
  now <- Sys.getenv()
  changed <- names(now)[is.na(match(names(now), names(born$env))) | now != born$env[match(names(now), names(born$env))]]
  list(
    r = paste(R.version$major, R.version$minor, sep = "."), cwd = tryCatch(getwd(), error = function(condition) NULL),
    set = structure(as.character(now[changed]), names = as.character(changed)), unset = setdiff(names(born$env), names(now)),
    paths = setdiff(.libPaths(), born$paths)
  )
}

lost_reason <- function(value) {
  if (inherits(value, "connection")) return("a connection cannot be saved")
  if (typeof(value) %in% c("externalptr", "weakref")) return("a pointer to something outside of R cannot be saved")
  if (tryCatch(has_pointer(value, 0L), error = function(condition) FALSE)) "it has a pointer to something outside of R, which cannot be saved"
}

# Without methods of anybody's. data.table finds out by itself that its pointer is gone.
has_pointer <- function(value, depth) {
  kind <- typeof(value)
  if (kind %in% c("externalptr", "weakref")) return(TRUE)
  if (depth > POINTER_DEPTH || kind %in% c("environment", "closure", "symbol", "builtin", "special")) return(FALSE)
  if (is.object(value) || isS4(value)) {
    more <- attributes(value)
    for (name in setdiff(names(more), c(".internal.selfref", "names", "row.names", "levels", "class"))) if (has_pointer(more[[name]], depth + 1L)) return(TRUE)
  }
  if (kind == "list") {
    items <- unclass(value)
    for (i in seq_len(min(length(items), POINTER_ITEMS))) if (has_pointer(.subset2(items, i), depth + 1L)) return(TRUE)
  }
  FALSE
}
