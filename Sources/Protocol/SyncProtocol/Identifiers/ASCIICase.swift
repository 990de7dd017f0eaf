/// Comparison of texts without regard to the case of ASCII letters.
///
/// It works on UTF-8 bytes, so it neither normalises nor depends on a locale.
package enum ASCIICase {
    /// The lower-case form of an ASCII letter, any other byte as it is.
    package static func folded(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Whether two texts differ in the case of ASCII letters at most.
    package static func equal(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count
            && left.utf8.elementsEqual(right.utf8) { folded($0) == folded($1) }
    }

    /// Whether the folded bytes of `left` come before those of `right`.
    package static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8) { folded($0) < folded($1) }
    }
}
