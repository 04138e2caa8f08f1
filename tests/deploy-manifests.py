"""Checks Kubernetes manifests against the OpenAPI description of the API: `deploy-manifests.py swagger.json FILE…`.

Unlike the API server, it also refuses fields that the description does not have. Kinds of other projects are named, and
not checked. Ends with 1 if something is wrong.
"""

import json
import sys

import jsonschema
from ruamel.yaml import YAML


def strict(definitions):
    """Refuses unknown fields, and takes the two types that OpenAPI cannot describe for what they are."""
    for name, definition in definitions.items():
        if name.endswith("IntOrString"):
            definition["type"] = ["string", "integer"]
        elif name.endswith("api.resource.Quantity"):
            definition["type"] = ["string", "number"]
        elif "properties" in definition:
            definition.setdefault("additionalProperties", False)
    return definitions


def kinds(definitions):
    """The names of definitions by their apiVersion and kind."""
    found = {}
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind", []):
            version = "/".join(part for part in (kind["group"], kind["version"]) if part)
            found[version, kind["kind"]] = name
    return found


def breaks_a_rule(manifest):
    """What the API server checks beside the schema, of what the chart uses."""
    pod = manifest.get("spec", {}).get("template", {}).get("spec", {})
    for container in pod.get("containers", []):
        context = container.get("securityContext", {})
        if context.get("procMount") == "Unmasked" and pod.get("hostUsers", True):
            yield "procMount: Unmasked needs hostUsers: false"
        mounts = {mount["name"] for mount in container.get("volumeMounts", [])}
        yield from (f"no volume {name}" for name in mounts - {volume["name"] for volume in pod.get("volumes", [])})
    labels = manifest.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {})
    selector = manifest.get("spec", {}).get("selector", {})
    if "template" in manifest.get("spec", {}) and not selector.get("matchLabels", {}).items() <= labels.items():
        yield "the selector does not match the labels of the template"


def main(swagger, *files):
    with open(swagger, encoding="utf-8") as file:
        definitions = strict(json.load(file)["definitions"])
    known = kinds(definitions)
    checked, wrong = 0, 0
    for path in files:
        with open(path, encoding="utf-8") as file:
            manifests = [manifest for manifest in YAML(typ="safe").load_all(file) if manifest]
        names = set()
        for manifest in manifests:
            what = manifest.get("apiVersion"), manifest.get("kind")
            place = f"{path}: {what[1]} {manifest.get('metadata', {}).get('name')}"
            if place in names:
                print(f"{place}: is there twice")
                wrong += 1
            names.add(place)
            if what not in known:
                print(f"UNAVAILABLE: {place}: the description of {what[0]} is another project's")
                continue
            schema = {"$ref": f"#/definitions/{known[what]}", "definitions": definitions}
            errors = list(jsonschema.Draft7Validator(schema).iter_errors(manifest))
            for error in errors:
                print(f"{place}: {'.'.join(map(str, error.absolute_path))}: {error.message[:300]}")
            broken = list(breaks_a_rule(manifest))
            for rule in broken:
                print(f"{place}: {rule}")
            wrong += len(errors) + len(broken)
            checked += 1
    print(f"{checked} manifests checked, {wrong} mistakes")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
