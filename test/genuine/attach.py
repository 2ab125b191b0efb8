"""Attach openhands-sdk to a conversation of an agent server and print what it read, as one JSON document.

Call it with the Python of an SDK environment made by set-up.mjs; the session key is in the environment variable
SESSION_API_KEY, where no process list shows it:
    ENV/bin/python attach.py --host URL --id CONVERSATION [--until STATUS] [--file TEXT]
With --until it stays attached until the run has that status and reads the events once more through the SDK. With --file
it uploads a file with that text, prints it with a command there, and downloads it.
"""
import argparse
import json
import os
import sys
import tempfile
import time
import uuid
from pathlib import Path

# Nothing on the internet is asked, and nothing but the document is printed to stdout.
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP='True', OPENHANDS_SUPPRESS_BANNER='1')
stdout, sys.stdout = sys.stdout, sys.stderr

from importlib.metadata import version  # noqa: E402

import openhands.tools.preset.default  # noqa: E402, F401 (registers the tools whose events are read)
from openhands.sdk import LLM, Agent  # noqa: E402
from openhands.sdk.conversation.impl.remote_conversation import RemoteConversation  # noqa: E402
from openhands.sdk.workspace import RemoteWorkspace  # noqa: E402

BOUND_S = 300


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--host', required=True)
    p.add_argument('--id', required=True, type=uuid.UUID)
    p.add_argument('--until')
    p.add_argument('--file')
    a = p.parse_args()
    workspace = RemoteWorkspace(host=a.host, api_key=os.environ['SESSION_API_KEY'], working_dir='.')
    agent = Agent(llm=LLM(model='openai/gpt-4o', api_key='none', usage_id='agent'), tools=[])
    conversation = RemoteConversation(agent=agent, workspace=workspace, conversation_id=a.id, visualizer=None)
    state = conversation.state
    end = time.monotonic() + BOUND_S
    while a.until and state.execution_status.value != a.until:
        if time.monotonic() > end:
            sys.exit(f'the status is {state.execution_status.value}, not {a.until}, after {BOUND_S} s')
        time.sleep(0.1)
    if a.until:
        state.events.reconcile()
    document = {
        'client': version('openhands-sdk'),
        'status': state.execution_status.value,
        'events': [{'id': event.id, 'kind': type(event).__name__, 'source': event.source} for event in state.events],
    }
    if a.file:
        document['files'] = move_file(workspace, a.file)
    conversation.close()
    json.dump(document, stdout)


def move_file(workspace, text):
    folder = workspace.execute_command('pwd').stdout.strip()
    with tempfile.TemporaryDirectory() as own:
        here, back, there = Path(own) / 'here.txt', Path(own) / 'back.txt', f'{folder}/from the client.txt'
        here.write_text(text)
        uploaded = workspace.file_upload(here, there)
        printed = workspace.execute_command('cat "from the client.txt"')
        downloaded = workspace.file_download(there, back)
        return {'errors': [uploaded.error, downloaded.error], 'printed': printed.stdout,
                'downloaded': back.read_text() if back.exists() else None}


if __name__ == '__main__':
    main()
