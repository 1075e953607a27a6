#!/bin/sh
# Test suites and build inputs of the big packages: a third of their files, none imported at run time.
set -eu
site="$1"
find "$site" -type d -name tests \
  \( -path "$site/IPython/*" -o -path "$site/joblib/*" -o -path "$site/matplotlib/*" -o -path "$site/mpl_toolkits/*" \
     -o -path "$site/networkx/*" -o -path "$site/numpy/*" -o -path "$site/pandas/*" -o -path "$site/pyarrow/*" \
     -o -path "$site/scipy/*" -o -path "$site/sklearn/*" -o -path "$site/statsmodels/*" -o -path "$site/sympy/*" \
     -o -path "$site/patsy/*" -o -path "$site/formulaic/*" \) \
  -prune -exec rm -rf {} +
rm -rf "$site/pyarrow/include" "$site/pyarrow/src" "$site/plotly/labextension"
find "$site" \( -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.a' \) -delete
