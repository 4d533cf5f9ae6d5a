"""Tests of app/served_metrics."""
