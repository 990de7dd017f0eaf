import OpenSSLCrypto
import SyncProtocol

/// Identifies the contents of a reply: the state that Index describes, or the bytes of a file (RFC 9110, section
/// 8.8.3).
///
/// The tag of a state is computed from the caller's groups as the reply shows them, including members, permissions and
/// master versions, but not from files: what Index shows of a file changes only with its group's master version or its
/// number of repeated uploads. So the cost does not depend on the number of files.
struct EntityTag: Equatable {
    /// With its quotes, as it appears in a header.
    let text: String

    /// - Parameters:
    ///   - groups: the caller's groups, as they appear in the reply.
    ///   - request: the request, since replies differ between requests.
    ///   - reuploads: the number of repeated uploads in the group that the request names.
    init(
        groups: [SharingGroupInfo], request: IndexRequest, caller: UserID, serverVersion: String, reuploads: Int64 = 0
    ) {
        var writer = JSONWriter(reservingBytes: 1_024)
        writer.array { writer in
            // A newer server may describe the same state differently.
            writer.value(text: serverVersion)
            writer.value(caller.rawValue)
            writer.value(text: request.encodedQuery)
            for group in groups { group.write(to: &writer) }
            if reuploads > 0 { writer.value(reuploads) }
        }
        let digest = IncrementalDigest.digest(of: writer.bytes, .sha256)
        text = "\"\(Array(digest.prefix(16)).hexLowercase)\""
    }

    /// The strong tag of a file's bytes: equal tags of a file mean equal bytes.
    /// - Parameter checkSum: the bytes' checksum, in the flavour of their storage.
    init(fileVersion: FileVersion, checkSum: CheckSum) {
        text = "\"\(fileVersion.rawValue)-\(checkSum.rawValue)\""
    }

    /// Whether an `If-None-Match` header names this tag, or any.
    ///
    /// The comparison is the weak one (RFC 9110, section 13.1.2), since a proxy that compresses replies weakens their
    /// tags.
    func isNamed(by header: String) -> Bool {
        header.split(separator: ",").contains { part in
            var tag = part.drop { $0 == " " || $0 == "\t" }
            while let last = tag.last, last == " " || last == "\t" { tag.removeLast() }
            return tag == "*" || tag == text || tag == "W/\(text)"
        }
    }
}
