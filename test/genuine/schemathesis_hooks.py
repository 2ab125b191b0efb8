"""Hooks of schemathesis: the programs that it makes up do not run, and its files stay below WORKSPACE."""
import os

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    for holder in [case.body, case.body.get('args') if isinstance(case.body, dict) else None]:
        if isinstance(holder, dict) and isinstance(holder.get('command'), str):
            holder['command'] = 'true'
    if '/file/upload' not in case.path:
        return
    for parameters in [case.path_parameters, case.query]:
        if isinstance(parameters.get('path'), str) and parameters['path'].startswith('/'):
            parameters['path'] = os.environ['WORKSPACE'] + parameters['path'].replace('..', '')
