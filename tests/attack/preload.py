"""Imported once by the process from which others are forked."""

# ruff: noqa: F401
import octavo.cli.cat.command
import octavo.client.log_dir
import octavo.client.producer.arrow
import octavo.jobs.verify.job
import octavo.scanner.api
import octavo.scanner.reading.arrow
import tests.attack.after_loss
import tests.attack.worker
