# Prepares the sandbox for a test command and then executes it: `root up program…`.
#
# `root` is the directory, relative to this one, in which Python finds the project's own packages, or empty; `up`
# leads from here to the root of the tree. The shell never parses a name that is not greenlight's own. The tree under
# test can manipulate everything here, but gains nothing from it: the tests run as the same user in the same sandbox
# right afterwards.
#
# The text in single quotes is for another shell.
# shellcheck shell=sh disable=SC2016
root=$1
up=$2
shift 2

# Gives the workspace a directory with links to the packages of another one: installed packages are read-only there,
# but tools write beside them (`.cache`, `.vite`). Links between packages of one repository are copied unchanged, and
# lead to the code under test.
links() {
	mkdir -p "$2" || return
	find "$1" -mindepth 1 -maxdepth 1 -type l -exec sh -c 'cp -P "$@" "$0/"' "$2" {} +
	find "$1" -mindepth 1 -maxdepth 1 ! -type l \
		! -name '@*' ! -name .bin ! -name '.cache' ! -name '.vite*' \
		-exec sh -c 'ln -s "$@" "$0/"' "$2" {} +
	for below in "$1"/@* "$1"/.bin; do
		# Links were copied as links; following them might never end.
		[ -L "$below" ] || [ ! -d "$below" ] || links "$below" "$2/${below##*/}"
	done
}

if [ -n "$GREENLIGHT_MODULES" ]; then
	[ -n "$GREENLIGHT_MODULES_IN" ] ||
		GREENLIGHT_MODULES_IN=$(cd "$GREENLIGHT_MODULES" && find . -type d -name node_modules -prune)
	printf '%s\n' "$GREENLIGHT_MODULES_IN" | while IFS= read -r at; do
		[ -e "$up/$at" ] || [ ! -d "$GREENLIGHT_MODULES/$at" ] || links "$GREENLIGHT_MODULES/$at" "$up/$at"
		# Output that Vitest would let a compiler write into Vitest's own package goes to `/tmp`.
		for tool in tsc vue-tsc; do
			tool="$up/$at/.bin/$tool"
			if [ -n "$GREENLIGHT_CHECKS_TYPES" ] && [ -e "$tool" ] && [ ! -e "$tool.own" ] && mv "$tool" "$tool.own"; then
				printf '%s\n' '#!/bin/sh' \
					'for word do shift; case $word in */tsconfig.tmp.tsbuildinfo) word=/tmp/tsconfig.tmp.tsbuildinfo ;; esac; set -- "$@" "$word"; done' \
					'exec "$0.own" "$@"' > "$tool" && chmod +x "$tool"
			fi
		done
	done
fi 2>/dev/null

# Files that a build left among the sources, unless the tree has them.
if [ -n "$GREENLIGHT_GENERATED" ] && [ -d "$GREENLIGHT_GENERATED" ]; then
	cp -Rn "$GREENLIGHT_GENERATED/." . 2>/dev/null
fi
[ -z "$GREENLIGHT_BUILT" ] || cp -Rpn "$GREENLIGHT_BUILT/." "$up" 2>/dev/null
unset GREENLIGHT_MODULES GREENLIGHT_MODULES_IN GREENLIGHT_CHECKS_TYPES GREENLIGHT_GENERATED GREENLIGHT_BUILT

# The nearest programs first; those of a virtual environment before all others.
[ ! -d "$up/node_modules/.bin" ] || PATH=$(cd "$up" && pwd)/node_modules/.bin:$PATH
[ ! -d node_modules/.bin ] || PATH=$PWD/node_modules/.bin:$PATH
[ -z "$VIRTUAL_ENV" ] || PATH=$VIRTUAL_ENV/bin:$PATH
[ -z "$root" ] || export PYTHONPATH="$PWD/$root:$PWD${PYTHONPATH:+:$PYTHONPATH}"
# Kept for the next run in this workspace; cargo does the same by default.
export GOCACHE="$PWD/.greenlight-cache/go"
# Links to Go's compiled library, which is read-only. Go must not trim the links as too old.
if [ -n "$GREENLIGHT_GO_LIBRARY" ] && [ ! -e "$GOCACHE/linked" ]; then
	mkdir -p "$GOCACHE"
	cp -Rsn "$GREENLIGHT_GO_LIBRARY/." "$GOCACHE/"
	rm -f "$GOCACHE/trim.txt"
	date +%s > "$GOCACHE/trim.txt"
	: > "$GOCACHE/linked"
fi 2>/dev/null
unset GREENLIGHT_GO_LIBRARY
# Links to the compiled crates of a Rust project and to their sources, which are read-only. Cargo writes beside them.
if [ -n "$GREENLIGHT_CRATES" ]; then
	if [ ! -e "$up/$GREENLIGHT_CRATES_IN" ]; then
		mkdir -p "$up/$GREENLIGHT_CRATES_IN"
		cp -Rs "$GREENLIGHT_CRATES/target/." "$up/$GREENLIGHT_CRATES_IN/"
	fi
	for index in "$GREENLIGHT_CRATES"/sources/*; do
		unpacked=${CARGO_HOME:-$HOME/.cargo}/registry/src/${index##*/}
		mkdir -p "$unpacked" && ln -s "$index"/* "$unpacked/"
	done
fi 2>/dev/null
# What this tree itself was compiled to, in files that its tests may write to.
if [ -n "$GREENLIGHT_TREE" ]; then
	mkdir -p "$up/$GREENLIGHT_TREE_IN"
	cp -af "$GREENLIGHT_TREE/." "$up/$GREENLIGHT_TREE_IN/"
fi 2>/dev/null
unset GREENLIGHT_CRATES GREENLIGHT_CRATES_IN GREENLIGHT_TREE GREENLIGHT_TREE_IN
# Both streams in one, in the order of writing.
exec "$@" 2>&1
