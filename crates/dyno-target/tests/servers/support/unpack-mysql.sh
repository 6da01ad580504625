#!/usr/bin/env bash
# Unpacks MySQL's server and all libraries it needs from Debian's unstable into a folder, and installs nothing:
#
#     unpack-mysql.sh FOLDER
#
# FOLDER/root is there only if everything is. The packages come from where this machine's own come from.
set -euo pipefail

folder=$1
mkdir -p "$folder"
cd "$folder"
rm -rf apt fresh
mkdir -p apt/lists/partial apt/archives/partial apt/conf.d fresh
: >apt/status

# Of the sources of this machine's packages, Debian's main one: not those of updates.
source=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
  grep -E '/debian/? [a-z]+$' | head -n 1 | cut -d' ' -f1)
test -n "$source" || { echo "no source of Debian's packages is known" >&2; exit 1; }
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] $source unstable main" >apt/sources.list

export APT_CONFIG=$PWD/apt/apt.conf
cat >"$APT_CONFIG" <<CONF
Dir::Etc::sourcelist "$PWD/apt/sources.list";
Dir::Etc::sourceparts "$PWD/apt/conf.d";
Dir::Etc::parts "$PWD/apt/conf.d";
Dir::Etc::preferencesparts "$PWD/apt/conf.d";
Dir::State "$PWD/apt";
Dir::State::status "$PWD/apt/status";
Dir::Cache "$PWD/apt";
Acquire::Languages "none";
Acquire::http::Timeout "30";
Acquire::Check-Valid-Until "false";
APT::Sandbox::User "root";
CONF

apt-get -qq update
apt-get -qq -y --no-install-recommends --download-only install mysql-server-core >/dev/null
for file in apt/archives/*.deb; do
  dpkg-deb --extract "$file" fresh
done
rm -rf apt root
mv fresh root
