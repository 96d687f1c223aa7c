"""Measure how good the filter is: corpora, protocols, measures, and the comparison of event models."""
