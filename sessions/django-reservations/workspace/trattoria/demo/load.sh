#!/bin/sh
# Make the database and fill it. Safe to run twice.
set -e
cd "$(dirname "$0")/.."
python manage.py migrate --verbosity 0
python manage.py load_demo
