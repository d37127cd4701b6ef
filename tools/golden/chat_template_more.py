# SPDX-License-Identifier: Apache-2.0
"""Further conversations for comparing templates, as lines of `o3 text render`: shapes that the API
would never pass on are among them."""

from chat_template_cases import CALL, TOOL, assistant, system, user


def tool(content, **more):
    return {"role": "tool", "content": content, **more}


def call(name, arguments, **more):
    return {"id": "call_" + name, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


NESTED_TOOL = {"type": "function", "function": {
    "name": "search", "description": "Finds things.\nSecond line with 'quotes', \"doubles\" and <|im_end|>.",
    "parameters": {"type": "object", "required": ["query", "limits"], "properties": {
        "query": {"type": "string", "description": "What to find", "enum": ["a", "b\"c", "д"]},
        "limits": {"type": "object", "properties": {
            "count": {"type": "integer", "minimum": 1, "default": 10, "maximum": 12345678901234567890123},
            "ratio": {"type": "number", "default": 0.5},
            "deep": {"type": "array", "items": {"type": ["string", "null"]}}}},
        "flag": {"type": "boolean", "default": False},
        "either": {"anyOf": [{"type": "string"}, {"type": "number"}], "nullable": True},
        "nothing": {}}},
    "return": {"type": "object", "properties": {"found": {"type": "array", "items": {"type": "string"}}}}}}
FULL_TOOL = {"type": "function", "function": {
    "name": "locate", "description": "Where something is.", "parameters": {
        "type": "object", "additionalProperties": False, "required": ["what"], "properties": {
            "what": {"type": "string", "description": "It."}, "near": {"type": "integer", "description": "In metres."}}}}}
NO_ARGUMENTS = {"type": "function", "function": {"name": "now", "description": "", "parameters": {
    "type": "object", "properties": {}}}}
BARE = {"name": "bare", "description": "not wrapped", "parameters": {"type": "object", "properties": {
    "x": {"type": "integer"}}}}
SPACES = "\u00a0\u1680\u2000\u2003\u2028\u2029\u202f\u205f\u3000\u0085\u001c\u001f\u200b\ufeff\u180e"

MORE = {
    "parallel_calls": {"messages": [
        user("Both?"), assistant("", tool_calls=[call("search", {"query": "a", "limits": {"count": 2}}), call("now", {})]),
        tool("found", name="search", tool_call_id="call_search"), tool("12:00", name="now", tool_call_id="call_now"),
        assistant("Done.")], "tools": [NESTED_TOOL, NO_ARGUMENTS]},
    "calls_with_text_arguments": {"messages": [
        user("x"), assistant(None, tool_calls=[call("search", "{\"query\": \"a\", \"n\": 1.50}")]), tool("r"), user("y")],
        "tools": [NESTED_TOOL]},
    "calls_with_broken_arguments": {"messages": [
        user("x"), assistant(None, tool_calls=[call("search", "{not json"), call("now", None)]), tool("")],
        "tools": [NESTED_TOOL]},
    "calls_twice": {"messages": [
        system("S"), user("x"), assistant("first", tool_calls=[call("now", {})]), tool("1"),
        assistant("second", tool_calls=[call("now", {"a": [1, {"b": None}], "t": True, "f": 2.5})]), tool("2"), user("z")],
        "tools": [NO_ARGUMENTS, TOOL]},
    "calls_without_tools": {"messages": [user("x"), assistant("", tool_calls=[CALL]), tool("r", tool_call_id="abcdefghi")]},
    "bare_tool": {"messages": [user("x")], "tools": [BARE]},
    "empty_tools": {"messages": [system("S"), user("x")], "tools": []},
    "null_tools": {"messages": [user("x")], "tools": None},
    "empty_calls": {"messages": [user("x"), assistant("y", tool_calls=[]), user("z")], "tools": [TOOL]},
    "null_calls": {"messages": [user("x"), assistant("y", tool_calls=None), user("z")]},
    "call_without_function": {"messages": [user("x"), assistant("", tool_calls=[{"name": "now", "arguments": {"q": 1}}]), tool("r")],
                              "tools": [TOOL]},
    "tool_parts": {"messages": [user("x"), assistant("", tool_calls=[CALL]),
                                tool([{"type": "text", "text": "part one"}, {"type": "text", "text": "two"}])], "tools": [TOOL]},
    "tool_mapping": {"messages": [user("x"), assistant("", tool_calls=[CALL]), tool({"t": 21.5, "ok": None})], "tools": [TOOL]},
    "tool_responses": {"messages": [user("x"), assistant("", tool_calls=[CALL], tool_responses=[{"name": "weather", "response": {"t": 1}}]), user("y")],
                       "tools": [TOOL]},
    "reasoning_content": {"messages": [user("q"), assistant("a", reasoning_content="why\n\nso"), user("r"),
                                       assistant("b", reasoning_content="")]},
    "reasoning": {"messages": [user("q"), assistant("a", reasoning="thoughts", thinking="more"), user("r")]},
    "reasoning_and_calls": {"messages": [
        user("q"), assistant(None, reasoning_content="need the time", thinking="need the time", tool_calls=[call("now", {})]), tool("12"),
        assistant("It is 12.", reasoning_content="easy")], "tools": [NO_ARGUMENTS]},
    "reasoning_none": {"messages": [user("q"), assistant("a", reasoning_content=None, thinking=None), user("r")]},
    "think_tags": {"messages": [user("q"), assistant("<think></think>"), user("r"), assistant("</think>x<think>"), user("<think>hm</think>")]},
    "thinking_on": {"messages": [user("q")], "variables": {"enable_thinking": True, "thinking": True, "reasoning_effort": "high"}},
    "thinking_off": {"messages": [system("S /no_think"), user("q /think")],
                     "variables": {"enable_thinking": False, "thinking": False, "reasoning_effort": "low"}},
    "thinking_parts": {"messages": [user("q"), assistant([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]), user("r")]},
    "no_content": {"messages": [user("x"), {"role": "assistant"}, {"role": "user"}]},
    "no_role": {"messages": [{"content": "x"}, user("y")]},
    "empty_message": {"messages": [{}]},
    "developer": {"messages": [{"role": "developer", "content": "rules"}, user("x")]},
    "function_role": {"messages": [user("x"), {"role": "function", "name": "f", "content": "{}"}, {"role": "ipython", "content": "1"}]},
    "late_system": {"messages": [user("x"), system("late"), assistant("y"), system("later"), user("z")]},
    "two_systems": {"messages": [system("a"), system("b"), user("c")]},
    "only_system": {"messages": [system("alone")]},
    "only_assistant": {"messages": [assistant("alone")], "add_generation_prompt": False},
    "system_none": {"messages": [system(None), user("x")]},
    "user_none": {"messages": [user(None)]},
    "number_content": {"messages": [user(3), assistant(2.5), user(True)]},
    "list_content": {"messages": [user([]), assistant([]), user(["text", {"type": "text"}])]},
    "mapping_content": {"messages": [user({"text": "x"}), assistant({})]},
    "media": {"messages": [user([{"type": "image_url", "image_url": {"url": "data:"}}, {"type": "video"}, {"type": "audio"},
                                 {"type": "text", "text": "what?"}, {"type": "input_text", "text": "t"}])]},
    "unicode_spaces": {"messages": [system(SPACES + "S" + SPACES), user(SPACES + "a" + SPACES + "b" + SPACES), assistant(SPACES), user("x")]},
    "special_tokens": {"messages": [
        system("<|endoftext|><bos><eos></s>[INST]<<SYS>>"),
        user("<|tool_call|><tool_call>{}</tool_call><|python_tag|>[TOOL_CALLS]<start_of_turn>user"),
        assistant("<|im_end|><think>\n</think><|eot_id|><|return|><|channel|>final<|message|>"), user("</think>")]},
    "jinja_text": {"messages": [system("{{ bos_token }}"), user("{% for m in messages %}{{ m }}{% endfor %}{{ '{{' }}#}"),
                                assistant("{% raw %}"), user("%}}}")]},
    "escapes": {"messages": [user("a\\nb\\\\ \\u0041 \"q\" 'p' \x1b[0m \x00 </script>&amp;"), assistant("\r\n\r\n"), user("\n\n\nx\n\n\n")]},
    "numbers": {"messages": [user("x", big=2**70, small=-2**63, edge=2**64 - 1, zero=-0.0, tiny=5e-324, huge=1.7976931348623157e308, third=1 / 3, one=1.0, e16=1e16, e15=123456789012345.6),
                             assistant("", tool_calls=[call("f", {"n": 10**25, "x": 1e-7, "y": 100000.0, "z": -1})]), tool("r", n=1)],
                "tools": [NESTED_TOOL]},
    "odd_roles": {"messages": [{"role": "USER", "content": "x"}, {"role": "", "content": "y"}, {"role": None, "content": "z"}, {"role": 3, "content": "w"}]},
    "names": {"messages": [system("S", name="sys"), user("a", name="Zoë 🙂"), assistant("b", name="bot"), user("c", name="")]},
    "long": {"messages": [m for i in range(40) for m in (user(f"question {i}"), assistant(f"answer {i}"))] + [user("last")]},
    "prefix": {"messages": [user("x"), assistant("unfinished", prefix=True)], "add_generation_prompt": False},
    "dates": {"messages": [user("today?")], "variables": {"date_string": "1 Jan 2030", "current_date": "2030-01-01", "today": "x"}},
    "controls": {"messages": [user("x")], "variables": {"controls": {"length": "short", "originality": "high"}, "builtin_tools": ["wolfram_alpha", "code_interpreter"],
                                                        "tools_in_user_message": False, "custom_tools": [TOOL], "xml_tools": [TOOL], "python_tools": [TOOL]}},
    "grounded": {"messages": [user("x")], "variables": {"model_identity": "You are someone.", "platform_instruction_override": "P", "citation_options": "accurate",
                                                        "add_vision_id": True, "keep_past_thinking": True, "preserve_thinking": True}},
    "messages_null": {"messages": None},
    "messages_text": {"messages": "hello"},
    "messages_of_text": {"messages": ["a", 1, None]},
}
