#!/usr/bin/env bash
# Installs the Homebrew formula of a release, made from the program that is given, with brew itself and nothing from the
# network: `tests/homebrew.sh CLONE PROGRAM`. CLONE is a clone of https://github.com/Homebrew/brew; TAG, 4.2.21 by default,
# is the version in it, which has to accept this machine's Ruby. As root, an ordinary user (`nobody`) runs brew.
set -euo pipefail
cd "$(dirname "$0")/.."
clone="$(realpath "$1")"
program="$(realpath "$2")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
version="$("$program" --version | awk '{ print $2 }')"

release="$scratch/releases/v$version"
mkdir -p "$release" "$scratch/home"
tar -czf "$release/greenlight-x86_64-unknown-linux-musl.tar.gz" -C "$(dirname "$program")" "$(basename "$program")"
cp "$release/greenlight-x86_64-unknown-linux-musl.tar.gz" "$release/greenlight-aarch64-unknown-linux-musl.tar.gz"
(cd "$release" && sha256sum -- *.tar.gz) > "$scratch/SHA256SUMS"

brew="$scratch/prefix/Homebrew"
git clone --quiet --shared --branch "${TAG:-4.2.21}" -c advice.detachedHead=false "$clone" "$brew"
mkdir "$scratch/prefix/bin"
ln -s ../Homebrew/bin/brew "$scratch/prefix/bin/brew"
# Without one, brew would clone all formulas there are.
core="$brew/Library/Taps/homebrew/homebrew-core"
tap="$brew/Library/Taps/local/homebrew-tap/Formula"
mkdir -p "$core/Formula" "$tap"
git -C "$core" init --quiet
git -C "$core" -c user.name=n -c user.email=e commit --quiet --allow-empty --message=empty
git -C "$core" remote add origin https://github.com/Homebrew/homebrew-core
.ci/formula "v$version" "file://$scratch/releases" < "$scratch/SHA256SUMS" > "$tap/greenlight.rb"

as=()
if [ "$(id -u)" = 0 ]; then
  chmod 755 "$scratch"
  chown -R nobody "$scratch"
  as=(setpriv --reuid nobody --regid nogroup --clear-groups)
fi
environment=(HOME="$scratch/home" PATH="$scratch/prefix/bin:/usr/bin:/bin" HOMEBREW_NO_AUTO_UPDATE=1
  HOMEBREW_NO_INSTALL_FROM_API=1 HOMEBREW_NO_ANALYTICS=1 HOMEBREW_NO_INSTALL_CLEANUP=1 HOMEBREW_TEMP="$scratch"
  GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory 'GIT_CONFIG_VALUE_0=*')
(cd "$scratch" && "${as[@]}" env -i "${environment[@]}" brew install local/tap/greenlight)
"$scratch/prefix/bin/greenlight" --version
test -d "$scratch/prefix/Cellar/greenlight/$version" || { echo "brew took it for another version" >&2; exit 1; }
for file in etc/bash_completion.d/greenlight share/zsh/site-functions/_greenlight \
  share/fish/vendor_completions.d/greenlight.fish share/man/man1/greenlight.1; do
  test -s "$scratch/prefix/$file" || { echo "brew did not install $file" >&2; exit 1; }
done
echo "homebrew: fine"
