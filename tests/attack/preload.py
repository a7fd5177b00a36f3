"""Imported once by the process that others are forked from."""

# ruff: noqa: F401
import octavo.cli.cat.command
import octavo.client.arrow
import octavo.client.log_dir
import octavo.jobs.verify.job
import octavo.scan.api
import octavo.scan.arrow
import tests.attack.after_loss
import tests.attack.worker
