"""Read a conversation with clients that openapi-python-client has generated, and print it as one JSON document.

Call it in the folder that holds the packages app_server and agent_server:
    ENV/bin/python call_generated.py CONVERSATION
The servers and their keys are in APP_URL, APP_KEY, AGENT_URL and AGENT_KEY.
"""
import json
import os
import sys

sys.path.insert(0, os.getcwd())

import agent_server  # noqa: E402
import app_server  # noqa: E402
from agent_server.api.default import get_api_conversations_conversation_id_events_search as search_events  # noqa: E402
from app_server.api.default import get_api_v1_app_conversations as get_conversations  # noqa: E402


def client(package, name):
    url, key = os.environ[f'{name}_URL'], os.environ[f'{name}_KEY']
    return package.AuthenticatedClient(base_url=url, token=key, prefix='', auth_header_name='X-Session-API-Key')


conversation = sys.argv[1]
[found] = get_conversations.sync(client=client(app_server, 'APP'), ids=[conversation])
page = search_events.sync(client=client(agent_server, 'AGENT'), conversation_id=conversation, limit=100)
json.dump({'id': found.id, 'events': [event.id for event in page.items]}, sys.stdout)
