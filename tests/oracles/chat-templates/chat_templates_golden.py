"""Writes chat-templates-golden.json: templates in the styles of common model families, rendered by transformers.

Made with Python 3.11, transformers 5.24.0, Jinja2 3.1.6:
    python chat_templates_golden.py > chat-templates-golden.json
"""

import json
import sys

from transformers.utils.chat_template_utils import render_jinja_template

CHATML = """{%- for message in messages %}
{%- if loop.first and message['role'] != 'system' %}
{{- '<|im_start|>system\\nYou are a helpful assistant<|im_end|>\\n' }}
{%- endif %}
{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

# Tools in XML tags, calls as JSON, results in user turns, reasoning kept only after the last question.
QWEN = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- '\\n</tools>\\nAnswer with <tool_call>{"name": <name>, "arguments": <object>}</tool_call><|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(searching=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.searching and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.searching = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set thought = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thought = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>assistant\\n' }}
        {%- if loop.index0 > ns.last and (loop.last or thought) %}
            {{- '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' }}
        {%- endif %}
        {{- content }}
        {%- for call in message.tool_calls or [] %}
            {%- if call.function %}{%- set call = call.function %}{%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' + call.name + '", "arguments": ' }}
            {%- if call.arguments is string %}{{- call.arguments }}{%- else %}{{- call.arguments | tojson }}{%- endif %}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or messages[loop.index0 - 1].role != "tool" %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' + content + '\\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != "tool" %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}
"""

# Header tokens, a date, tools in the first user turn as indented JSON, one call a message, ipython results.
LLAMA3 = """{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}{%- set date_string = strftime_now("%d %b %Y") %}{%- else %}{%- set date_string = "26 Jul 2024" %}{%- endif %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}{{- "Environment: ipython\\n" }}{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" + system_message + "<|eot_id|>" }}
{%- if tools is not none and messages | length != 0 %}
    {%- set first_user_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
    {{- '<|start_header_id|>user<|end_header_id|>\\n\\n' }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- first_user_message + "<|eot_id|>" }}
{%- endif %}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n{"name": "' + tool_call.name + '", "parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}<|eot_id|>" }}
    {%- else %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or (message.content is iterable and message.content is not string) %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}
"""

# [INST] turns, strict alternation, tools before the last user turn written key by key, calls with ids.
MISTRAL = """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("roles must alternate user/assistant/user/assistant") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}{{- '"' + key + '": "' + val + '"' }}{%- else %}{{- '"' + key + '": ' + val|tojson }}{%- endif %}
                    {%- if not loop.last %}{{- ", " }}{%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" }}{%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 9 %}
                {{- raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}
            {%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}
            {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" + eos_token }}{%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token }}
    {%- elif message["role"] == "tool" %}
        {{- '[TOOL_RESULTS] {"content": ' + message.content|string + ', "call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception("unknown role " + message["role"]) }}
    {%- endif %}
{%- endfor %}
"""

# Documents, macros, loop controls, filters and a {% generation %} block.
MIXED = """{%- macro show(title, body='none') -%}[{{ title|upper }}: {{ body }}]{%- endmacro -%}
{% for d in documents or [] %}
{{ show(d.title, d.text | replace('\\n', ' ')) }}
{% endfor %}
{%- for message in messages %}
{%- if message.role == 'system' %}{% continue %}{% endif %}
{%- if loop.index > 4 %}{% break %}{% endif %}
  {%- generation %}{{ loop.index }}/{{ loop.length }} {{ message.role | capitalize }}: {{ message.content | default('?', true) | string }}
{% endgeneration %}
{%- endfor %}
{{ {'b': [1, 2.5, true, none], 'a': 'x"\\u00e9<&>\\n'} | tojson }} {{ [1, 'a', none, {'k': false}] | tojson(indent=2) }} {{ 7 // 2 }} {{ 7 % 3 }} {{ 1 / 2 }} {{ 'a' ~ 1 }} {{ [3, 1, 2] | sort | join('-') }}"""

SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}
SEARCH = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Looks \"things\" up: caf\u00e9 <b>&</b> 'q'\n",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "What to look for"}, "limit": {"type": "integer", "minimum": 1, "default": 5}, "kinds": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 0, "x": [], "y": {}}},
            "required": ["query"],
            "additionalProperties": False,
        },
    },
}
CLOCK = {"type": "function", "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}}}


def call(name, arguments, id="abcdefghi"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


ASK = [{"role": "user", "content": "  What is 12 + 12?\n"}]
SYSTEM = [{"role": "system", "content": " Answer briefly. "}]
CONVERSATIONS = {
    "question": ASK,
    "system": SYSTEM + ASK,
    "turns": SYSTEM + ASK + [{"role": "assistant", "content": "<think>\nsum\n</think>\n\n24 \u00e9\u4e2d\U0001f600"}, {"role": "user", "content": "And \"twice\" <that>?"}],
    "call": ASK + [{"role": "assistant", "content": None, "tool_calls": [call("search", {"query": "caf\u00e9 \"x\"", "limit": 3, "exact": True, "none": None, "share": 0.5})]}],
    "result": SYSTEM + ASK + [{"role": "assistant", "content": "", "tool_calls": [call("now", {})]}, {"role": "tool", "tool_call_id": "abcdefghi", "name": "now", "content": "12:00\n{\"a\": 1}"}],
    "two": ASK + [{"role": "assistant", "content": "Let me look.", "tool_calls": [call("search", {"query": "a"}), call("now", {}, "123456789")]}, {"role": "tool", "tool_call_id": "abcdefghi", "content": "1"}, {"role": "tool", "tool_call_id": "123456789", "content": "2"}],
    "reasoning": ASK + [{"role": "assistant", "reasoning_content": "hm\n", "content": "24"}],
    "broken": ASK + ASK,
}
OPTIONS = {
    "plain": {"add_generation_prompt": False},
    "prompt": {"add_generation_prompt": True},
    "tools": {"add_generation_prompt": True, "tools": [SEARCH, CLOCK]},
    "documents": {"add_generation_prompt": False, "documents": [{"title": "One", "text": "first\nsecond"}]},
    "variables": {"add_generation_prompt": True, "enable_thinking": False, "date_string": "01 Jan 2030"},
}

cases = []
for style, template in {"chatml": CHATML, "qwen": QWEN, "llama3": LLAMA3, "mistral": MISTRAL, "mixed": MIXED}.items():
    for conversation, messages in CONVERSATIONS.items():
        for options, given in OPTIONS.items():
            # Dates differ from day to day: this style asks for them, so it is given one.
            variables = {"date_string": "02 Mar 2025", **given} if style == "llama3" else given
            try:
                rendered, _ = render_jinja_template([messages], chat_template=template, **SPECIAL, **variables)
                result = {"rendered": rendered[0]}
            except Exception as error:
                result = {"error": str(error)}
            cases.append({"style": style, "conversation": conversation, "options": options, **result})
golden = {
    "templates": {"chatml": CHATML, "qwen": QWEN, "llama3": LLAMA3, "mistral": MISTRAL, "mixed": MIXED},
    "conversations": CONVERSATIONS,
    "options": OPTIONS,
    "cases": cases,
}
json.dump(golden, sys.stdout, ensure_ascii=True, indent=1)
