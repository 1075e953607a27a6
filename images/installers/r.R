# Installs packages into a library of their own: `Rscript r.R <library> <repositories> <name> <version or -> ...`.

args <- commandArgs(trailingOnly = TRUE)
library <- args[[1]]
repos <- strsplit(args[[2]], ",", fixed = TRUE)[[1]]
if (!length(repos)) {
  repos <- getOption("repos")
  # R asks which mirror to take; the first in its own list is the one that is near to everybody.
  repos[repos == "@CRAN@"] <- getCRANmirrors(local.only = TRUE)$URL[1]
}
pairs <- matrix(args[-(1:2)], nrow = 2)
.libPaths(c(library, .libPaths()))

fail <- function(name, why) {
  message("error: ", name, ": ", why)
  quit(status = 1)
}

installed_version <- function(name) {
  tryCatch(as.character(packageVersion(name)), error = function(e) NA_character_)
}

available <- available.packages(repos = repos)

for (i in seq_len(ncol(pairs))) {
  name <- pairs[1, i]
  wanted <- pairs[2, i]
  has <- installed_version(name)
  if (!is.na(has) && (wanted == "-" || package_version(has) == wanted)) {
    message(name, " ", has, " is there already")
    next
  }
  current <- if (name %in% rownames(available)) available[name, "Version"] else NA_character_
  if (wanted == "-" && is.na(current)) fail(name, "no such package in the repositories")
  # install.packages only warns when something goes wrong, so what counts is what is there afterwards.
  if (wanted == "-" || identical(unname(current), wanted)) {
    install.packages(name, lib = library, repos = repos)
  } else {
    # An older version, from the archive; what it needs comes as it is now.
    needed <- tools::package_dependencies(name, db = available, which = c("Depends", "Imports", "LinkingTo"))[[1]]
    missing <- setdiff(needed, rownames(installed.packages()))
    if (length(missing)) install.packages(missing, lib = library, repos = repos)
    file <- file.path(tempdir(), sprintf("%s_%s.tar.gz", name, wanted))
    for (url in contrib.url(repos, "source")) {
      archive <- sprintf("%s/Archive/%s/%s", url, name, basename(file))
      status <- tryCatch(suppressWarnings(download.file(archive, file, quiet = TRUE)), error = function(e) 1)
      if (status == 0) {
        install.packages(file, lib = library, repos = NULL, type = "source")
        break
      }
    }
    if (!identical(installed_version(name), wanted))
      fail(name, paste0("version ", wanted, " not found; the repositories have ", current))
  }
  if (is.na(installed_version(name))) fail(name, "could not be installed")
}
