"""Checks of documents beyond their structure, and explanations of errors."""
