"""Writes src/fleet_charging/_generated from the OpenAPI document: `python scripts/generate.py`."""

from __future__ import annotations

import json
import keyword
import re
import textwrap
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DOCUMENT = json.loads((ROOT / "../../api/openapi.json").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SCHEMAS: dict[str, dict[str, Any]] = DOCUMENT["components"]["schemas"]
OUT = ROOT / "src/fleet_charging/_generated"
HEADER = '"""Written by scripts/generate.py from the OpenAPI document. Do not edit."""\n\nfrom __future__ import annotations\n\n'
# What query parameters and bodies must not be called: the methods have parameters of these names.
TAKEN = {"self", "id", "expand", "options"}
# How many members a path of `expand` may have, as the description of the query parameter says.
MAX_LEVELS = 4
STATUS_ERRORS = {
    400: "InvalidRequestError",
    401: "AuthenticationError",
    402: "PaymentError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    412: "PreconditionFailedError",
    429: "RateLimitError",
}


def target(schema: Any) -> str | None:
    """The name of the schema that is referred to."""
    return schema["$ref"].rsplit("/", 1)[-1] if isinstance(schema, dict) and "$ref" in schema else None


def pascal(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def is_hidden(name: str) -> bool:
    return name.startswith(("Error", "Expandable")) or name.endswith("Page") or name == "EmptyBody"


def reachable(names: list[str]) -> set[str]:
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            names += re.findall(r'#/components/schemas/(\w+)"', json.dumps(SCHEMAS[name]))
    return found


def bodies() -> list[str]:
    found = []
    for item in DOCUMENT["paths"].values():
        for operation in item.values():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            found += [name for name in [target(body.get("schema"))] if name and name != "EmptyBody"]
    return found


def responses() -> list[str]:
    text = json.dumps([[o["responses"]["200"] for o in item.values() if "200" in o["responses"]] for item in DOCUMENT["paths"].values()])
    return re.findall(r'#/components/schemas/(\w+)"', text)


def request_name(name: str) -> str:
    return f"{name}Params" if name in BOTH else name


def literal(words: list[Any]) -> str:
    # Strings in double quotes, as the rest of the code has them.
    shown = ", ".join(json.dumps(word) if isinstance(word, str) else repr(word) for word in words)
    return f"Literal[{shown}]"


def type_of(schema: dict[str, Any], *, request: bool) -> str:
    """The annotation of a member."""
    name = target(schema)
    if name is not None:
        if name.startswith("Expandable"):
            return f"Expandable[{name.removeprefix('Expandable')}]"
        if request and "enum" in SCHEMAS[name]:
            return literal(SCHEMAS[name]["enum"])
        return request_name(name) if request else name
    if "const" in schema:
        return literal([schema["const"]])
    if "enum" in schema:
        return literal(schema["enum"])
    for options in ("oneOf", "anyOf"):
        if options in schema:
            return " | ".join(dict.fromkeys(type_of(one, request=request) for one in schema[options]))
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return " | ".join(dict.fromkeys(_plain(kind, schema, request=request) for kind in kinds)) or "Any"


def _plain(kind: str, schema: dict[str, Any], *, request: bool) -> str:
    match kind:
        case "string":
            if schema.get("format") != "date-time":
                return "str"
            return "str | datetime" if request else "datetime"
        case "integer":
            return "int"
        case "number":
            return "float"
        case "boolean":
            return "bool"
        case "null":
            return "None"
        case "array":
            entry = type_of(schema["items"], request=request)
            return f"Sequence[{entry}]" if request else f"list[{entry}]"
        case _:
            values = schema.get("additionalProperties")
            entry = type_of(values, request=request) if isinstance(values, dict) else "Any"
            return f"Mapping[str, {entry}]" if request else f"dict[str, {entry}]"


def wrapped(schema: dict[str, Any]) -> str | None:
    """The name of the class of a member that is an object, a moment, or a list of such."""
    for one in [schema, schema.get("items", {}), *schema.get("oneOf", []), *schema.get("anyOf", [])]:
        if one.get("format") == "date-time":
            return "datetime"
        name = target(one)
        if name is not None and "enum" not in SCHEMAS[name]:
            return name
    return None


def doc(text: str | None, indent: str = "    ") -> str:
    if not text:
        return ""
    quoted = " ".join(text.split()).replace("\\", "\\\\")
    lines = textwrap.wrap(quoted, 110 - len(indent), break_long_words=False, break_on_hyphens=False)
    end = "" if len(lines) == 1 else f"\n{indent}"
    return f'{indent}"""' + f"\n{indent}".join(lines) + end + '"""\n'


def identifier(name: str) -> str | None:
    """The attribute of a member; none for a name that no attribute can have."""
    if keyword.iskeyword(name):
        return f"{name}_"
    return name if name.isidentifier() else None


def response_class(name: str, schema: dict[str, Any]) -> str:
    base = name.removesuffix("WithWarnings")
    base = base if base != name and base in SCHEMAS else "ApiObject"
    members = schema["properties"]
    if base != "ApiObject":
        members = {member: value for member, value in members.items() if member not in SCHEMAS[base]["properties"]}
    types = {member: kind for member, value in members.items() if (kind := wrapped(value))}
    if base != "ApiObject":
        types = {m: kind for m, value in schema["properties"].items() if (kind := wrapped(value))}
    lines = [f"class {name}({base}):\n", doc(schema.get("description")), "    __slots__ = ()\n"]
    if types:
        entries = ", ".join(f'"{member}": "{kind}"' for member, kind in types.items())
        lines.append(f"    _types: ClassVar[Mapping[str, str]] = {{{entries}}}\n")
    lines.append("\n")
    required = set(schema.get("required", []))
    for member, value in members.items():
        attribute = identifier(member)
        if attribute is None:
            lines.append(f'    # ["{member}"]: {type_of(value, request=False)}\n')
            continue
        lines.append(f"    {attribute}: {type_of(value, request=False)}\n")
        said = value.get("description", "")
        if member not in required:
            said = f"{said} Not always there: see `in`.".strip()
        lines.append(doc(said))
    return "".join(lines) + "\n\n"


def request_class(name: str, schema: dict[str, Any]) -> str:
    lines = [f"class {request_name(name)}(TypedDict):\n", doc(schema.get("description"))]
    entries: list[str] = []
    is_class = True
    required = set(schema.get("required", []))
    for member, value in schema["properties"].items():
        argument = identifier(member)
        kind = type_of(value, request=True)
        kind = kind if member in required else f"NotRequired[{kind}]"
        entries.append(f"    {json.dumps(member)}: {json.dumps(kind)},\n")
        # The client renames the members of a body itself, not those of objects within it.
        is_class = is_class and (argument == member or (argument is not None and name in bodies()))
        lines.append(f"    {argument}: {kind}\n")
        lines.append(doc(value.get("description")))
    if not is_class:
        # A member such as `from` cannot be written in a class.
        title = request_name(name)
        return "".join([f'{title} = TypedDict("{title}", {{\n', *entries, "})\n\n\n"])
    return "".join(lines) + "\n\n"


def inline_objects() -> None:
    """Gives the objects that are written inside other schemas names of their own."""
    for name, schema in list(SCHEMAS.items()):
        if is_hidden(name):
            continue
        for member, value in list(schema.get("properties", {}).items()):
            if "properties" in value:
                inner = f"{name}{pascal(member)}"
                assert inner not in SCHEMAS, inner
                SCHEMAS[inner] = value
                schema["properties"][member] = {"$ref": f"#/components/schemas/{inner}"}
                for part, deeper in list(value["properties"].items()):
                    if "properties" in deeper:
                        SCHEMAS[inner + pascal(part)] = deeper
                        value["properties"][part] = {"$ref": f"#/components/schemas/{inner}{pascal(part)}"}


def models() -> str:
    text = HEADER + (
        "from collections.abc import Mapping, Sequence\nfrom datetime import datetime\n"
        "from typing import Any, ClassVar, Literal, NotRequired, TypedDict\n\n"
        "from .._objects import ApiObject, Expandable, register_union\n\n"
    )
    paths = expand_types()
    names = [*paths]
    unions = ""
    for name, schema in SCHEMAS.items():
        if is_hidden(name):
            continue
        names.append(name)
        if "enum" in schema:
            # A newer service may show a value that is not known here. What a request names is one of these values.
            text += f"{name} = {literal(schema['enum'])} | str\n" + doc(schema.get("description"), "") + "\n"
        elif "oneOf" in schema:
            options = " | ".join(str(target(one)) for one in schema["oneOf"])
            by = schema["discriminator"]
            mapping = {value: path.rsplit("/", 1)[-1] for value, path in by["mapping"].items()}
            unions += f"{name} = {options}\n" + doc(schema.get("description"), "")
            unions += f'register_union("{name}", "{by["propertyName"]}", {json.dumps(mapping)})\n\n'
        else:
            if name not in REQUESTS:
                text += response_class(name, schema)
            if name in REQUESTS or name in BOTH:
                text += request_class(name, schema)
                if name in BOTH:
                    names.append(request_name(name))
    text += "\n" + unions + "".join(paths.values())
    return text + "__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted(names)) + "]\n"


def errors() -> str:
    responses = DOCUMENT["components"]["responses"].values()
    examples = [one["value"] for response in responses for one in response["content"]["application/json"]["examples"].values()]
    codes: dict[str, int] = {error["code"]: error["status"] for error in examples if error["code"]}
    bases = sorted({STATUS_ERRORS[status] for code, status in codes.items() if code != "rate_limit_exceeded"})
    text = HEADER + "from typing import Literal\n\n"
    text += f"from .._errors import ApiError, {', '.join(sorted({*bases, 'RateLimitError'}))}\n\n"
    text += "ErrorCode = Literal[\n" + "".join(f'    "{code}",\n' for code in sorted(codes)) + "]\n\n\n"
    classes = {"rate_limit_exceeded": "RateLimitError"}
    for code, status in sorted(codes.items()):
        if code in classes:
            continue
        classes[code] = pascal(code.removesuffix("_error")) + "Error"
        text += f"class {classes[code]}({STATUS_ERRORS[status]}):\n"
        text += f'    """`{code}` ({status})."""\n\n\n'
    text += "BY_CODE: dict[str, type[ApiError]] = {\n"
    text += "".join(f'    "{code}": {name},\n' for code, name in sorted(classes.items())) + "}\n\n"
    names = sorted({"ErrorCode", *classes.values()} - {"RateLimitError"})
    return text + "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n"


def expandable(name: str) -> dict[str, str]:
    """The members of a schema that hold ids, as paths, each with the schema of the object."""
    schema = SCHEMAS[name]
    if "oneOf" in schema:
        return expandable(str(target(schema["oneOf"][0])))
    found: dict[str, str] = {}
    for member, value in schema.get("properties", {}).items():
        for option in [value, value.get("items", {}), *value.get("oneOf", [])]:
            inner = target(option)
            if inner is None:
                continue
            if inner.startswith("Expandable"):
                found[member] = inner.removeprefix("Expandable")
            elif "object" not in SCHEMAS[inner].get("properties", {}):
                found |= {f"{member}.{path}": of for path, of in expandable(inner).items()}
    return found


def expand_paths(name: str, passed: tuple[str, ...] = (), prefix: str = "") -> list[str]:
    """The paths that the service expands in an object: up to four members, and each kind of object at most once."""
    passed = (*passed, name)
    paths: list[str] = []
    for member, of in expandable(name).items():
        path = prefix + member
        if of not in passed and path.count(".") < MAX_LEVELS:
            paths += [path, *expand_paths(of, passed, f"{path}.")]
    return paths


def expand_type(name: str) -> str:
    """The name of the type that has the paths of these objects."""
    return f"{name.removesuffix('WithWarnings')}Expand"


def expand_types() -> dict[str, str]:
    """The types of all arguments `expand`, by name."""
    operations = [operation for item in DOCUMENT["paths"].values() for operation in item.values()]
    types = {}
    for name in sorted({shown_by(operation) for operation in operations if has_expand(operation)}):
        paths = "".join(f"    {json.dumps(path)},\n" for path in expand_paths(name.removesuffix("WithWarnings")))
        description = doc("A path that `expand` accepts.", "")
        types[expand_type(name)] = f"{expand_type(name)} = Literal[\n{paths}]\n{description}\n"
    return types


def has_expand(operation: dict[str, Any]) -> bool:
    return "200" in operation["responses"] and any(parameter.get("name") == "expand[]" for parameter in operation["parameters"])


def shown_by(operation: dict[str, Any]) -> str:
    """The schema of the object in the response, or of those in its list."""
    response = str(target(operation["responses"]["200"]["content"]["application/json"]["schema"]))
    return str(target(SCHEMAS[response]["properties"]["data"]["items"])) if response.endswith("Page") else response


def query_class(name: str, operation: dict[str, Any]) -> str | None:
    """The keyword arguments of an operation's query parameters."""
    members: dict[str, str] = {}
    docs: dict[str, str] = {}
    for one in operation["parameters"]:
        if one.get("in") != "query" or one["name"] == "expand[]":
            continue
        schema = one["schema"]
        if found := re.fullmatch(r"(\w+)\[(\w+)\]", one["name"]):
            members.setdefault(found[1], "TimeRange")
            docs[found[1]] = "When the object was created."
            continue
        attribute = identifier(one["name"].removesuffix("[]"))
        assert attribute is not None and attribute not in TAKEN, one["name"]
        members[attribute] = type_of(schema, request=True)
        docs[attribute] = one.get("description", "")
    if not members:
        return None
    lines = [f"class {name}(TypedDict, total=False):\n"]
    for member, kind in members.items():
        lines += [f"    {member}: {kind}\n", doc(docs[member])]
    return "".join(lines) + "\n\n"


def resources() -> str:
    queries = ""
    sync: dict[str, str] = {}
    asynchronous: dict[str, str] = {}
    described = {tag["name"]: tag["description"] for tag in DOCUMENT["tags"]}
    for path, item in DOCUMENT["paths"].items():
        for verb, operation in item.items():
            tag, method = operation["tags"][0], operation["x-method"]
            arguments = ["self"]
            call = [f'"{verb.upper()}"', f'f"{path}"'.replace("{id}", "{quote(id, safe=\'\')}") if "{id}" in path else f'"{path}"']
            if "{id}" in path:
                arguments.append("id: str")
            # An operation without 200 redirects to a file.
            response = operation["responses"].get("200")
            is_page = bool(response) and str(target(response["content"]["application/json"]["schema"])).endswith("Page")
            shown = shown_by(operation) if response else ""
            keywords, passed = [], []
            if has_expand(operation):
                keywords.append(f"expand: Sequence[models.{expand_type(shown)}] = ()")
                passed.append("expand=expand")
            keywords.append("options: RequestOptions | None = None")
            passed.append("options=options")
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            query = query_class(f"{pascal(tag)}{pascal(method)}Query", operation)
            params = target(body)
            if params and params != "EmptyBody":
                assert not TAKEN & set(SCHEMAS[params]["properties"]), params
                keywords.append(f"**params: Unpack[models.{params}]")
                passed.append("body=params")
            elif body:
                passed.append("body={}")
            if query:
                queries += query
                keywords.append(f"**query: Unpack[{pascal(tag)}{pascal(method)}Query]")
                passed.append("query=query")
            star = ["*", *keywords]
            signature = ", ".join([*arguments, *star])
            text = doc(operation["description"], "        ")
            kind = f"models.{shown}"
            call_text = ", ".join([*call, *passed])
            if not response:
                call_text = ", ".join([call[1], *passed])
                text = doc(operation["description"] + " Returns the URL of the file.", "        ")
                sync[tag] = sync.get(tag, "") + (
                    f"    def {method}({signature}) -> str:\n{text}        return self._http.link({call_text})\n\n"
                )
                asynchronous[tag] = asynchronous.get(tag, "") + (
                    f"    async def {method}({signature}) -> str:\n{text}        return await self._http.link({call_text})\n\n"
                )
            elif is_page:
                target_call = ", ".join([f'"{shown}"', call[1], *passed])
                sync[tag] = sync.get(tag, "") + (
                    f"    def {method}({signature}) -> Page[{kind}]:\n{text}"
                    f"        return self._http.list({target_call})\n\n"
                )
                asynchronous[tag] = asynchronous.get(tag, "") + (
                    f"    def {method}({signature}) -> AsyncPageRequest[{kind}]:\n{text}"
                    f"        return self._http.list({target_call})\n\n"
                )
            else:
                sync[tag] = sync.get(tag, "") + (
                    f"    def {method}({signature}) -> {kind}:\n{text}"
                    f'        result: {kind} = self._http.request("{shown}", {call_text})\n'
                    "        return result\n\n"
                )
                asynchronous[tag] = asynchronous.get(tag, "") + (
                    f"    async def {method}({signature}) -> {kind}:\n{text}"
                    f'        result: {kind} = await self._http.request("{shown}", {call_text})\n'
                    "        return result\n\n"
                )
    text = HEADER + (
        "from collections.abc import Sequence\nfrom datetime import datetime\n"
        "from typing import TYPE_CHECKING, Literal, TypedDict, Unpack\nfrom urllib.parse import quote\n\n"
        "from . import models\n\n"
        "if TYPE_CHECKING:\n    from .._http import AsyncHttp, RequestOptions, SyncHttp\n"
        "    from .._pages import AsyncPageRequest, Page\n\n\n"
        "class TimeRange(TypedDict, total=False):\n"
        '    """A range of times; each bound excludes or includes the moment itself."""\n\n'
        + "".join(f"    {bound}: str | datetime\n" for bound in ("gt", "gte", "lt", "lte"))
        + "\n\n"
        + queries
    )
    # A method may be called `list`, which hides the type inside its class: nothing there uses it.
    for prefix, http, methods in (("", "SyncHttp", sync), ("Async", "AsyncHttp", asynchronous)):
        for tag, body in methods.items():
            text += f"class {prefix}{pascal(tag)}:\n{doc(described[tag])}\n"
            text += f"    def __init__(self, http: {http}) -> None:\n        self._http = http\n\n{body}\n"
        text += f"class {prefix or 'Sync'}Resources:\n" + '    """All resources of the service."""\n\n'
        text += f"    def __init__(self, http: {http}) -> None:\n"
        text += "".join(f"        self.{tag} = {prefix}{pascal(tag)}(http)\n" for tag in methods) + "\n\n"
    return text.rstrip("\n") + "\n"


def describe_thin_payloads() -> None:
    """Adds to the object of each event the members that a delivery with the payload `thin` has."""
    for schema in SCHEMAS.values():
        properties = schema.get("properties", {})
        subject = properties.get("data", {}).get("properties", {}).get("object")
        if subject and properties.get("object", {}).get("const") == "event":
            subject["description"] += " For an endpoint with the `payload` `thin`, it has `id` and `object` alone."


describe_thin_payloads()
inline_objects()
_requests = {name for name in reachable(bodies()) if "enum" not in SCHEMAS[name]}
# What requests and responses have alike, such as an address, has two names: that of the class, and one with `Params`.
BOTH = _requests & reachable(responses())
REQUESTS = _requests - BOTH


def main() -> None:
    version = f'API_VERSION = "{DOCUMENT["info"]["version"]}"\n"""The version of the interface that this client speaks."""\n'
    version += f'CLIENT_VERSION = "{PROJECT["project"]["version"]}"\n"""The version of this client."""\n'
    OUT.mkdir(exist_ok=True)
    for name, text in (
        ("__init__", ""),
        ("version", HEADER + version),
        ("models", models()),
        ("errors", errors()),
        ("resources", resources()),
    ):
        (OUT / f"{name}.py").write_text(text)


if __name__ == "__main__":
    main()
