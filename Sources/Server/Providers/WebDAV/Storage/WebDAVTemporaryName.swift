/// What the bytes of an upload are called until they are complete: the reservation's spare name and a suffix, so that
/// whoever has the record of the reservation can find and delete what an interrupted upload has left.
struct WebDAVTemporaryName {
    /// Nextcloud and ownCloud refuse `.part`, which they use themselves, and Nextcloud also `.filepart`
    /// (`FilenameValidator`).
    private static let suffix = ".uploading"
    let name: String
    /// How the names begin that a server may give to further copies: up to the extension.
    var stem: Substring {
        let whole = name.dropLast(Self.suffix.count)
        return whole[..<(whole.lastIndex(of: ".") ?? whole.endIndex)]
    }

    /// - Parameter hash: that of the contents, in hexadecimal digits. Without a spare name it makes the name one that each
    ///   attempt to upload the same has, so that the one which succeeds moves away what those before it have left.
    init(of reservation: ObjectReservation, hash: String) {
        if let upload = Self(ofSpareName: reservation.spareName ?? reservation.name) {
            self = upload
        } else {
            name = ObjectReservation.name(reservation.name, marked: String(hash.prefix(8))) + Self.suffix
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
