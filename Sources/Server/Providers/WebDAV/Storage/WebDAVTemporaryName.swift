/// What the bytes of an upload are called until they are complete: the reservation's spare name and a suffix, so that
/// whoever has the record of the reservation can find and delete what an interrupted upload has left.
struct WebDAVTemporaryName {
    private static let suffix = ".part"
    let name: String

    /// - Throws: ``CloudStorageError/localFailure(_:)`` if there are no random bytes.
    init(of reservation: ObjectReservation) throws(CloudStorageError) {
        if let upload = Self(ofSpareName: reservation.spareName ?? reservation.name) {
            self = upload
        } else {
            name = try ObjectReservation.spareName(for: reservation.name) + Self.suffix
        }
    }

    /// - Returns: `nil` for a name that is not in the form of ``ObjectReservation/spareName(for:)``.
    init?(ofSpareName name: String) {
        let stem = name[..<(name.lastIndex(of: ".") ?? name.endIndex)]
        guard let tilde = stem.lastIndex(of: "~") else { return nil }
        let random = stem[stem.index(after: tilde)...]
        guard random.utf8.count == 8, random.allSatisfy({ $0.isHexDigit && !$0.isUppercase }) else { return nil }
        self.name = name + Self.suffix
    }
}
