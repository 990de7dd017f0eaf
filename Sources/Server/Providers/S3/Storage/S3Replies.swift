import Expat
import HTTPTransport
import SyncProtocol

/// One page of `ListObjectsV2`.
struct S3Listing {
    let objects: [StoredObject]
    /// The token for the next page; `nil` after the last one.
    let continuation: String?

    /// - Throws: ``CloudStorageError/unavailable(detail:)``.
    init(_ reply: Reply, prefix: String) throws(CloudStorageError) {
        let root = try S3XML.root(of: reply, named: "ListBucketResult")
        objects = root.children("Contents", in: root.namespace).compactMap { entry in
            guard let key = entry.child("Key", in: root.namespace)?.text, key.hasPrefix(prefix), key != prefix,
                let size = (entry.child("Size", in: root.namespace)?.text).flatMap({ Int64($0) }),
                let tag = entry.child("ETag", in: root.namespace)?.text
            else { return nil }
            let name = String(key.dropFirst(prefix.count))
            let object = StoredObject(
                objectID: S3.objectID(name), name: name, sizeBytes: size, providerHash: S3ETag(tag).md5,
                revision: S3ETag(tag).text,
                createdAt: (entry.child("LastModified", in: root.namespace)?.text).flatMap(WireDate.init(internetText:))
            )
            // An object whose key is too long is not ours.
            return object.isPlausible ? object : nil
        }
        let next = root.child("NextContinuationToken", in: root.namespace)?.text ?? ""
        continuation =
            root.child("IsTruncated", in: root.namespace)?.text == "true" && !next.isEmpty ? next : nil
    }
}

/// Parses the XML of replies.
enum S3XML {
    /// The root element, if it has that name with or without `Result`, which `rclone serve s3` sometimes omits.
    /// - Throws: ``CloudStorageError/unavailable(detail:)``: a service that sends anything else is not working.
    static func root(of reply: Reply, named name: String) throws(CloudStorageError) -> XMLElement {
        guard let root = try? XMLElement(parsing: reply.body), [root.name, root.name + "Result"].contains(name) else {
            throw .unavailable(detail: "unreadable reply from the provider")
        }
        return root
    }
}
