"""Run a conversation with openhands-sdk to its end and print what came of it, as one JSON document.

Call it with the Python of an SDK environment made by set-up.mjs; the key is in the environment variable API_KEY, where no
process list shows it:
    ENV/bin/python converse.py --host URL --message TEXT [--model-url URL]
    ENV/bin/python converse.py --cloud URL --message TEXT [--model-url URL]
With --host it is a RemoteWorkspace at that agent server, and the key is that of its sandbox. With --cloud it is an
OpenHandsCloudWorkspace at that app server: it makes a sandbox, pauses and resumes it, takes model and secrets from the
settings of the user where the release can, and deletes the sandbox at its end. `seconds`: from the creation of the
conversation to the end of its run. `--model-url`: an OpenAI-compatible endpoint, where the settings do not name one.
"""
import argparse
import json
import os
import sys
import time

# Nothing on the internet is asked, and nothing but the document is printed to stdout.
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP='True', OPENHANDS_SUPPRESS_BANNER='1')
stdout, sys.stdout = sys.stdout, sys.stderr

from importlib.metadata import version  # noqa: E402

from openhands.sdk import LLM, Agent, Conversation  # noqa: E402
from openhands.sdk.workspace import RemoteWorkspace  # noqa: E402
from openhands.tools.preset.default import get_default_tools  # noqa: E402

KEY = os.environ['API_KEY']


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--host')
    p.add_argument('--cloud')
    p.add_argument('--message', required=True)
    p.add_argument('--model-url')
    a = p.parse_args()
    own = LLM(model='openai/gpt-4o', api_key='none', base_url=a.model_url, usage_id='agent')
    if a.cloud is None:
        document = converse(RemoteWorkspace(host=a.host, api_key=KEY, working_dir='.'), own, a.message, {})
    else:
        document = in_cloud(a.cloud, own, a.message)
    json.dump({'client': version('openhands-sdk'), **document}, stdout)


def in_cloud(url, own, message):
    from openhands.workspace import OpenHandsCloudWorkspace

    with OpenHandsCloudWorkspace(cloud_api_url=url, cloud_api_key=KEY, working_dir='.') as workspace:
        sandbox = workspace._sandbox_id
        address = f'{url}/api/v1/sandboxes'
        workspace._send_api_request('POST', f'{address}/{sandbox}/pause')
        paused = workspace._send_api_request('GET', address, params={'id': sandbox}).json()[0]['status']
        workspace.resume()
        has_settings = hasattr(workspace, 'get_llm')
        llm = workspace.get_llm(usage_id='agent') if has_settings else own
        secrets = workspace.get_secrets() if has_settings else {}
        document = converse(workspace, llm, message, secrets)
    key = llm.api_key.get_secret_value() if llm.api_key else None
    named = {'model': llm.model, 'base_url': llm.base_url, 'api_key': key}
    return {**document, 'sandbox': sandbox, 'paused': paused, 'llm': named, 'secrets': sorted(secrets)}


def converse(workspace, llm, message, secrets):
    started = time.monotonic()
    agent = Agent(llm=llm, tools=get_default_tools(enable_browser=False))
    conversation = Conversation(agent=agent, workspace=workspace, visualizer=None)
    if secrets:
        conversation.update_secrets(secrets)
    conversation.send_message(message)
    conversation.run()
    seconds = time.monotonic() - started
    conversation.state.events.reconcile()
    document = {
        'id': str(conversation.id),
        'status': conversation.state.execution_status.value,
        'events': [{'id': event.id, 'kind': type(event).__name__, 'source': event.source}
                   for event in conversation.state.events],
        'seconds': round(seconds, 2),
    }
    conversation.close()
    return document


if __name__ == '__main__':
    main()
